// Requests to the server. A refusal becomes a `Refused` with a sentence that says what happened and what to do.

let key = null;
try { key = sessionStorage.getItem("regard-key"); } catch { /* storage may be forbidden */ }

// The key for a server that asks for one, kept until the tab is closed.
export function useKey(text) {
  key = text || null;
  try { sessionStorage.setItem("regard-key", text); } catch { /* the key lasts as long as the page */ }
}

export class Refused extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    [this.status, this.retryAfter] = [status, retryAfter];
  }

  // Whether the same request may succeed later.
  get passes() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

const SENTENCES = {
  0: () => "The server does not answer. Is it still running?",
  403: (said) => `${said}`,
  413: () => "This is too long for the server. Give it less at once.",
  429: (said, seconds) => `The server is busy. Trying again in ${seconds} s.`,
  503: (said, seconds) => `The server is starting or stopping. Trying again in ${seconds} s.`,
  504: () => "The server took too long and gave up. Give it less at once.",
};

async function refusal(answer) {
  let said = "";
  try {
    const { error } = await answer.json();
    said = typeof error === "string" ? error : error?.message ?? "";
  } catch { /* no JSON: the status says enough */ }
  const seconds = Math.min(60, Math.max(1, Number(answer.headers.get("Retry-After")) || 2));
  const sentence = SENTENCES[answer.status]?.(said, seconds) || said || `The server refused with status ${answer.status}.`;
  return new Refused(answer.status, sentence, seconds);
}

async function answerOf(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "omit", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, SENTENCES[0](), 2);
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

const admission = () => (key === null ? {} : { Authorization: `Bearer ${key}` });

function posted(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json", ...admission() }, body: JSON.stringify(body), signal };
}

export async function load(path, signal) {
  return (await answerOf(path, { headers: admission(), signal })).json();
}

export async function ask(path, body, signal) {
  return (await answerOf(path, posted(body, signal))).json();
}

export async function askText(path, body, signal) {
  return (await answerOf(path, posted(body, signal))).text();
}

// A form with a file; the fields are strings.
export async function send(path, file, fields, signal) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file, file.name);
  return (await answerOf(path, { method: "POST", headers: admission(), body: form, signal })).json();
}

// The events of a stream, as { event, data }, while they arrive.
export async function* events(path, body, signal) {
  const answer = await answerOf(path, posted(body, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const lines = part.split("\n");
        const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
        const data = field("data");
        if (data) yield { event: field("event") || "message", data: JSON.parse(data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Pictures: chosen or dropped; the label of one with the patches that matter, or its caption with the places where each word looks.
import { make, prose } from "./explain/dom.js";
import { exact } from "./explain/format.js";
import { pictureView } from "./explain/pictureviews.js";
import { tokenProbabilities, wordMapsView } from "./explain/wordmaps.js";
import { explanationOf, refusedBox } from "./views.js";

const LARGEST = 1024; // pixels on a side; a larger picture is made smaller before it is sent

export function pictureInput(change) {
  const chooser = make("input", {
    type: "file", class: "unseen", id: "picture-file", accept: "image/png,image/jpeg", tabindex: -1, "aria-hidden": "true",
    change: () => { take(chooser.files[0]); chooser.value = ""; },
  });
  const shown = make("img", { class: "pixels", width: 96, alt: "the picture", hidden: true });
  const problem = make("span", { class: "refused", role: "alert" });
  const box = make("div", { class: "picked" }, shown,
    make("div", {}, make("button", { type: "button", id: "choose-picture", click: () => chooser.click() }, "Choose a picture"), chooser,
      make("p", { class: "note" }, "PNG or JPEG; or drop one anywhere on this page."), problem));
  const held = (event) => event.dataTransfer?.types.includes("Files") && box.isConnected;
  addEventListener("dragover", (event) => { if (held(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!held(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });

  async function take(file) {
    problem.textContent = "";
    try {
      const bitmap = await createImageBitmap(file);
      const size = Math.max(bitmap.width, bitmap.height);
      const blob = size > LARGEST ? await smaller(bitmap, LARGEST / size) : file;
      change({ picture: base64(await blob.arrayBuffer()), picture_name: file.name.slice(0, 200) });
    } catch {
      problem.textContent = `${file?.name ?? "This"} is no picture that this browser can read.`;
    }
  }

  return {
    box,
    show({ picture, picture_name: name }) {
      shown.hidden = !picture;
      if (picture) [shown.src, shown.alt] = [`data:image/png;base64,${picture}`, name];
    },
  };
}

async function smaller(bitmap, factor) {
  const canvas = make("canvas", { width: Math.round(bitmap.width * factor), height: Math.round(bitmap.height * factor) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/jpeg", 0.92); });
}

function base64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function column(model, named, draw) {
  const body = make("div", {});
  const box = make("section", { class: "live", "aria-label": model.name }, make("h2", { hidden: !named }, model.name), body);

  async function run(state, signal) {
    if (!state.picture) {
      body.replaceChildren();
      return null;
    }
    body.setAttribute("aria-busy", "true");
    try {
      const explanation = await explanationOf(state, model, "", null, signal);
      if (signal.aborted) return null;
      body.replaceChildren();
      draw(body, explanation);
    } catch (error) {
      if (signal.aborted) return null;
      body.replaceChildren(refusedBox(error));
      throw error;
    } finally {
      body.setAttribute("aria-busy", "false");
    }
    return null;
  }

  return { box, run };
}

export function pictureLabelColumn(model, _change, named) {
  return column(model, named, pictureView);
}

export function captionColumn(model, _change, named) {
  return column(model, named, (body, { model: facts, picture, heads, logprob, ...rest }) => {
    const maps = make("div", { class: "card" });
    body.append(
      make("div", { class: "card" }, prose("p", picture.text || "(nothing)", facts.target_language, "grown"),
        make("p", { class: "figures" }, make("span", {}, `log-probability ${exact(logprob)}`)), tokenProbabilities(rest)),
      make("h3", {}, "Where each word looks"), maps);
    wordMapsView(maps, picture, heads);
  });
}

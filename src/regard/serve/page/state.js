// The state of a page in its address, behind the #: it is never sent to the server, and a link to it opens the same page again.

export function readState() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Entries that are empty are left out.
export function writeState(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const hash = new URLSearchParams(kept).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

// Copies a text. A page that came over plain HTTP from another machine has no clipboard: then the selection is copied.
export async function copy(text) {
  if (navigator.clipboard && isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("the browser does not allow copying");
}

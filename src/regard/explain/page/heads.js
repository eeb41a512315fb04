// Small maps of all layers and heads of an attention, and one of them in detail.
import { arrayOf } from "./arrays.js";
import { make, onTheme } from "./dom.js";
import { matrixView } from "./matrix.js";

export const ATTENTIONS = {
  cross: { name: "cross", tells: "Where it looks in the source (columns) while it chooses each token (rows)." },
  decoder: { name: "decoder", tells: "Where it looks in what it has said (columns) while it chooses each token (rows)." },
  encoder: { name: "encoder", tells: "Where each token of the source (rows) looks in the source (columns)." },
};

// The tokens that an attention's queries (rows) and keys (columns) stand for. The decoder's inputs are shifted by one: it reads each token one step after it generated it.
export function labelsOf(explanation, kind) {
  const [source, target] = [explanation.source.tokens, explanation.target.tokens];
  if (kind === "encoder") return { rows: source, columns: source };
  return { rows: target, columns: kind === "cross" ? source : ["(start)", ...target.slice(0, -1)] };
}

export function kindsOf(explanation) {
  return Object.keys(ATTENTIONS).filter((kind) => explanation.attention[kind]);
}

// A group of buttons, one of which is pressed.
export function choice(names, chosen, choose, label) {
  const buttons = names.map(([value, text]) => make("button", {
    type: "button", "aria-pressed": String(value === chosen), click: () => {
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(names[index][0] === value)));
      choose(value);
    },
  }, text));
  return make("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

let well = null;

// The colour of a map as [red, green, blue], from any CSS notation.
function ink() {
  well ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  well.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--colour-1");
  well.fillRect(0, 0, 1, 1);
  return well.getImageData(0, 0, 1, 1).data;
}

// One pixel a cell: thousands of small maps cost little, and the browser scales them.
function thumbnail(weights, layer, head) {
  const [, , rows, columns] = weights.shape;
  const canvas = make("canvas", { width: columns, height: rows });
  const repaint = () => {
    const context = canvas.getContext("2d");
    const [red, green, blue] = ink();
    const image = context.createImageData(columns, rows);
    const cells = weights.at(layer, head);
    for (let index = 0; index < cells.length; index += 1) {
      image.data[4 * index] = red;
      image.data[4 * index + 1] = green;
      image.data[4 * index + 2] = blue;
      image.data[4 * index + 3] = Math.round(255 * cells[index]);
    }
    context.putImageData(image, 0, 0);
  };
  repaint();
  onTheme(canvas, repaint);
  return canvas;
}

export function headsView(parent, explanation) {
  const kinds = kindsOf(explanation);
  let [kind, layer, head] = [kinds[0], 0, 0];
  const note = make("p", { class: "note" });
  const grid = make("div", { class: "scroll" });
  const title = make("h3", {});
  const detail = make("div", {});
  const beside = make("div", { class: "detail" }, title, detail);
  const kindNames = kinds.map((one) => [one, ATTENTIONS[one].name]);
  parent.append(make("div", { class: "bar" }, choice(kindNames, kind, chooseKind, "attention")), note,
    make("div", { class: "glance" }, grid, beside));

  function chooseKind(next) {
    kind = next;
    const weights = arrayOf(explanation.attention[kind]);
    [layer, head] = [weights.shape[0] - 1, 0];
    note.textContent = ATTENTIONS[kind].tells;
    beside.style.flexBasis = `${10 + 1.2 * weights.shape[3]}rem`; // a long sentence wraps below and gets the full width
    const [layers, heads] = weights.shape;
    const numbers = Array.from({ length: heads }, (_, index) => make("th", { scope: "col" }, `head ${index + 1}`));
    const rows = Array.from({ length: layers }, (_, l) => make("tr", {},
      make("th", { scope: "row" }, `layer ${l + 1}`),
      Array.from({ length: heads }, (_, h) => make("td", {}, make("button", {
        type: "button", class: "thumb", "aria-label": `layer ${l + 1}, head ${h + 1}`, "data-layer": l, "data-head": h,
        click: () => choose(l, h),
      }, thumbnail(weights, l, h))))));
    grid.replaceChildren(make("table", { class: "thumbs" }, make("thead", {}, make("tr", {}, make("td"), numbers)), make("tbody", {}, rows)));
    choose(layer, head);
  }

  function choose(nextLayer, nextHead) {
    [layer, head] = [nextLayer, nextHead];
    grid.querySelectorAll(".thumb").forEach((button) => button.setAttribute("aria-pressed",
      String(button.dataset.layer === String(layer) && button.dataset.head === String(head))));
    title.textContent = `${ATTENTIONS[kind].name}, layer ${layer + 1}, head ${head + 1}`;
    parent.dispatchEvent(new CustomEvent("head", { bubbles: true, detail: { kind, layer, head } })); // for pages that do more with it
    const weights = arrayOf(explanation.attention[kind]);
    detail.replaceChildren();
    matrixView(detail, {
      ...labelsOf(explanation, kind), label: title.textContent, scale: 1,
      value: (row, column) => weights.at(layer, head, row, column),
      tell: (row, column) => [["weight", weights.at(layer, head, row, column)]],
    });
  }

  chooseKind(kind);
}

// A search tree: one column per step, cut nodes faded, the winning path along the top.
import { draw, make, shorten, textWidth } from "./dom.js";
import { exact, grouped } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const ROW = 25;
const GAP = 34; // between the words of one step and the dots of the next

const STATES = {
  kept: "kept in the beam",
  cut: "cut: others scored higher",
  finished: "finished",
  best: "the translation",
};

const BEGINNING = "the beginning"; // of every hypothesis: the root, which has no token

// An exact search has a bound instead of a beam.
const EXACT_STATES = {
  ...STATES,
  kept: "continued",
  cut: "cut: nothing that begins so can be more probable than the best known",
  finished: "the best until then",
};

// Nodes with their children, parents, and whether they are on the winning path.
function connect(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, { ...node, children: [], up: null, won: false }]));
  const roots = [];
  for (const node of byId.values()) {
    node.up = node.parent === null ? null : byId.get(node.parent);
    (node.up ? node.up.children : roots).push(node);
    if (node.state === "best") for (let at = node; at; at = at.parent === null ? null : byId.get(at.parent)) at.won = true;
  }
  const order = (a, b) => b.won - a.won || (b.score ?? -Infinity) - (a.score ?? -Infinity) || a.id - b.id;
  for (const node of byId.values()) node.children.sort(order);
  return { roots, all: [...byId.values()] };
}

// Fills each column from the top in depth-first order, so that no two edges cross.
function arrange(roots, withCut) {
  const free = new Map(); // step -> the first free row
  const shown = [];
  const walk = (node) => {
    node.row = free.get(node.step) ?? 0;
    free.set(node.step, node.row + 1);
    shown.push(node);
    for (const child of node.children) if (withCut || child.state !== "cut") walk(child);
  };
  roots.forEach(walk);
  const widths = new Map();
  for (const node of shown) {
    node.label = shorten(node.text || "∅", 18);
    node.width = textWidth(node.label) * (node.won ? 1.1 : 1) + 16; // the winner is bold
    widths.set(node.step, Math.max(widths.get(node.step) ?? 0, node.width));
  }
  let left = 12;
  const columns = new Map();
  for (const step of [...widths.keys()].sort((a, b) => a - b)) {
    columns.set(step, left);
    left += widths.get(step) + GAP;
  }
  for (const node of shown) [node.x, node.y] = [columns.get(node.step), 20 + node.row * ROW];
  return { shown, width: left - GAP + 16, height: 12 + ROW * Math.max(1, ...free.values()) };
}

// Returns a function that shows another tree in the same place, such as the one that this has grown to.
export function treeView(parent, tree) {
  let [roots, all, pieces, bounded] = [];
  const frame = make("div", { class: "scroll" });
  const toggle = make("input", { type: "checkbox", checked: true, change: () => render() });
  const cuts = make("span");
  parent.append(make("div", { class: "bar" }, make("label", {}, toggle, cuts)), frame, legend());

  function show(nodes) {
    ({ roots, all } = connect(nodes));
    pieces = all.some((node) => node.text.includes("▁")); // subwords: the mark is the space before a word
    bounded = all.some((node) => node.hopeful !== null); // by an exact search
    cuts.textContent = ` show the ${all.filter((node) => node.state === "cut").length} hypotheses that were cut`;
    render();
  }

  function legend() {
    const key = (state, text) => make("span", {}, make("i", { class: `node-key ${state}` }), ` ${text}`);
    const others = ["finished", "kept", "cut"].map((state) => key(state, state));
    return make("p", { class: "legend" }, key("best", "the translation"), others);
  }

  function render() {
    const { shown, width, height } = arrange(roots, toggle.checked);
    const edges = shown.filter((node) => node.up).sort((a, b) => a.won - b.won).map((node) => {
      const [x1, y1, x2, y2] = [node.up.x + node.up.width, node.up.y, node.x - 5, node.y];
      const bend = Math.min(GAP, x2 - x1) / 2;
      const start = Math.max(x1, x2 - GAP); // extend the line of a short word to the end of its column
      node.edge = draw("path", {
        class: `edge ${node.state}${node.won ? " won" : ""}`,
        d: `M${x1},${y1}H${start}C${start + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`,
      });
      return node.edge;
    });
    const marks = shown.map((node, index) => {
      node.mark = draw("g", {
        class: `node ${node.state}${node.won ? " won" : ""}`, transform: `translate(${node.x} ${node.y})`,
        tabindex: index === 0 ? 0 : -1, role: "img",
        "aria-label": `${prefix(node)}: ${state(node)}, score ${exact(node.score)}`,
        pointerenter: (event) => look(node, event), pointerdown: (event) => look(node, event), pointerleave: leave,
        focus: () => look(node), blur: leave, keydown: (event) => walk(event, node, shown),
      },
      draw("rect", { class: "hit", x: -8, y: -ROW / 2, width: node.width + 8, height: ROW }),
      draw("circle", { r: node.state === "cut" ? 3 : 4.5 }),
      draw("text", { x: 10, y: 4.5 }, node.label));
      return node.mark;
    });
    frame.replaceChildren(draw("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}` }, edges, marks));
  }

  function state(node) {
    if (!node.up && !node.text) return "nothing is written yet";
    return (bounded ? EXACT_STATES : STATES)[node.state];
  }

  function path(node) {
    const nodes = [];
    for (let at = node; at; at = at.up) nodes.unshift(at);
    return nodes;
  }

  function prefix(node) {
    const texts = path(node).filter((at) => at.up).map((at) => at.text);
    return (pieces ? texts.join("").replaceAll("▁", " ").trim() : texts.join(" ")) || (node.up ? "∅" : BEGINNING);
  }

  function look(node, event) {
    leave();
    for (const at of path(node)) {
      at.mark.classList.add("lit");
      at.edge?.classList.add("lit");
    }
    const box = node.mark.getBoundingClientRect();
    const rows = [["score", exact(node.score)], ["log-probability", exact(node.logprob)], ["step", node.step]];
    const kept = all.filter((other) => other.step === node.step && other.state === "kept").map((other) => other.logprob);
    if (node.hopeful !== null) rows.push(["the best known then", exact(node.bound)], ["likelier continuations", grouped(node.hopeful)]);
    else if (node.state === "cut" && kept.length) rows.push(["the weakest that was kept", exact(Math.min(...kept))]);
    const table = rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
    showTip(event?.clientX ?? box.right, event?.clientY ?? box.bottom,
      make("strong", { dir: "auto" }, prefix(node)), make("table", {}, table), make("small", {}, state(node)));
  }

  function leave() {
    frame.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    hideTip();
  }

  function walk(event, node, shown) {
    const column = shown.filter((other) => other.step === node.step).sort((a, b) => a.row - b.row);
    const at = column.indexOf(node);
    const next = {
      ArrowLeft: node.up, ArrowRight: node.children.find((child) => shown.includes(child)),
      ArrowUp: column[at - 1], ArrowDown: column[at + 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    node.mark.setAttribute("tabindex", "-1");
    next.mark.setAttribute("tabindex", "0");
    next.mark.focus();
  }

  show(tree.nodes);
  return (grown) => show(grown.nodes);
}

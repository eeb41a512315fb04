// Alignment maps: source words across, target words down, a cell as strong as its weight.
import { draw, make, onWidth, shorten, textWidth } from "./dom.js";
import { exact } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const CELL = { least: 18, most: 44 };

// The geometry of the cells in a frame of the given width.
function mapLayout(map, width) {
  const across = map.source_words.map((word) => textWidth(shorten(word)));
  const left = Math.max(24, ...map.target_words.map((word) => textWidth(shorten(word)))) + 14;
  const head = Math.max(24, ...across) * 0.72 + 16; // labels stand at 45 degrees
  const right = (across.at(-1) ?? 0) * 0.72 + 8;
  const room = (width - left - right) / Math.max(1, map.source_words.length);
  const cell = Math.floor(Math.max(CELL.least, Math.min(CELL.most, room)));
  const size = { width: left + right + cell * map.source_words.length, height: head + cell * map.target_words.length + 6 };
  return { left, head, cell, ...size };
}

// A selector and the map of the selected item. The items are sentences unless the caller names them otherwise.
export function alignmentView(parent, maps, names = null, what = "sentence") {
  let chosen = 0;
  let width = 0;
  let focus = null; // [source, target] of the cell under the pointer
  let parts = null;

  const frame = make("div", { class: "scroll" });
  const found = make("p", { class: "note" });
  const chooser = make("select", { "aria-label": what, change: (event) => choose(Number(event.target.value)) });
  maps.forEach((map, index) => {
    chooser.append(make("option", { value: index }, names?.[index] ?? `${index + 1}. ${shorten(map.source_words.join(" "), 60)}`));
  });
  const turn = (by) => choose((chosen + by + maps.length) % maps.length);
  const bar = make("div", { class: "bar" },
    make("button", { type: "button", class: "step", "aria-label": `Previous ${what}`, click: () => turn(-1) }, "‹"),
    chooser,
    make("button", { type: "button", class: "step", "aria-label": `Next ${what}`, click: () => turn(1) }, "›"));
  parent.append(maps.length > 1 ? bar : "", frame, found, legend());

  function choose(index) {
    chosen = index;
    chooser.value = String(index);
    focus = null;
    render(width);
  }

  function legend() {
    const known = maps.some((map) => map.gold !== null);
    const ramp = make("i", { class: "ramp" });
    return make("p", { class: "legend" },
      make("span", {}, "weight 0 ", ramp, " 1"),
      make("span", {}, make("i", { class: "cell-key linked" }), " link that the model predicts"),
      known && make("span", {}, make("i", { class: "cell-key gold" }), " true link (gold)"));
  }

  function render(available) {
    width = available;
    const map = maps[chosen];
    const place = mapLayout(map, width);
    const x = (source) => place.left + source * place.cell;
    const y = (target) => place.head + target * place.cell;
    const middle = place.cell / 2;
    const sources = map.source_words.map((word, source) => draw("text", {
      class: "word", "text-anchor": "start", transform: `translate(${x(source) + middle + 2} ${place.head - 8}) rotate(-45)`,
    }, shorten(word)));
    const targets = map.target_words.map((word, target) => draw("text", {
      class: "word", "text-anchor": "end", x: place.left - 8, y: y(target) + middle + 4,
    }, shorten(word)));
    const cells = map.weights.flatMap((row, target) => row.map((weight, source) => draw("rect", {
      class: "cell", x: x(source), y: y(target), width: place.cell - 1, height: place.cell - 1,
      "fill-opacity": Math.max(0, Math.min(1, weight ?? 0)).toFixed(3),
    })));
    const gold = (map.gold ?? []).map(([source, target]) => draw("rect", {
      class: "gold", x: x(source) + 1, y: y(target) + 1, width: place.cell - 3, height: place.cell - 3, rx: 3,
    }));
    const links = map.links.map(([source, target]) => draw("circle", {
      class: `link${(map.weights[target][source] ?? 0) > 0.5 ? " on-dark" : ""}`,
      cx: x(source) + middle - 0.5, cy: y(target) + middle - 0.5, r: 3,
    }));
    const [across, down] = [place.cell * map.source_words.length, place.cell * map.target_words.length];
    const ground = draw("rect", { class: "ground", x: place.left, y: place.head, width: across, height: down });
    const [from, to] = [map.source_words.join(" "), map.target_words.join(" ")];
    const bands = draw("g", { class: "bands" });
    const svg = draw("svg", {
      class: "map", viewBox: `0 0 ${place.width} ${place.height}`, width: place.width, height: place.height,
      tabindex: 0, role: "img", "aria-label": `Alignment of “${from}” with “${to}”. Arrow keys move from cell to cell.`,
      pointermove: (event) => look(cellAt(event), event), pointerdown: (event) => look(cellAt(event), event),
      pointerleave: () => look(null), blur: () => look(null), keydown: walk,
    }, ground, cells, links, gold, bands, sources, targets);
    parts = { svg, place, x, y, sources, targets, bands };
    frame.replaceChildren(svg);
    found.textContent = agreement(map);
    look(null);
  }

  function agreement(map) {
    if (map.gold === null) return "";
    const predicted = new Set(map.links.map((link) => link.join("-")));
    const hits = map.gold.filter((link) => predicted.has(link.join("-"))).length;
    return `${hits} of ${map.gold.length} true links found; ${hits} of ${predicted.size} predicted links are true.`;
  }

  function cellAt(event) {
    const { svg, place } = parts;
    const box = svg.getBoundingClientRect();
    const scale = place.width / box.width; // print and zoom may shrink the drawing
    const source = Math.floor(((event.clientX - box.left) * scale - place.left) / place.cell);
    const target = Math.floor(((event.clientY - box.top) * scale - place.head) / place.cell);
    const map = maps[chosen];
    const inside = source >= 0 && target >= 0 && source < map.source_words.length && target < map.target_words.length;
    return inside ? [source, target] : null;
  }

  // Highlights the row and column of a cell and shows its two words and its weight.
  function look(cell, event) {
    focus = cell;
    const { place, x, y, sources, targets, bands } = parts;
    sources.forEach((label, index) => label.classList.toggle("lit", cell !== null && index === cell[0]));
    targets.forEach((label, index) => label.classList.toggle("lit", cell !== null && index === cell[1]));
    if (cell === null) {
      bands.replaceChildren();
      hideTip();
      return;
    }
    const map = maps[chosen];
    const [source, target] = cell;
    bands.replaceChildren(
      draw("rect", { x: x(source), y: place.head, width: place.cell - 1, height: place.cell * map.target_words.length - 1 }),
      draw("rect", { x: place.left, y: y(target), width: place.cell * map.source_words.length - 1, height: place.cell - 1 }));
    const same = ([s, t]) => s === source && t === target;
    const kinds = [map.links.some(same) && "predicted link", map.gold?.some(same) && "true link"].filter(Boolean).join(", ");
    showTip(event.clientX, event.clientY,
      make("strong", {}, make("bdi", {}, map.source_words[source]), " → ", make("bdi", {}, map.target_words[target])),
      make("div", {}, `weight ${exact(map.weights[target][source])}`), kinds && make("small", {}, kinds));
  }

  function walk(event) {
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const map = maps[chosen];
    const bound = (value, words) => Math.max(0, Math.min(words.length - 1, value));
    const next = (at) => [bound(at[0] + move[0], map.source_words), bound(at[1] + move[1], map.target_words)];
    const cell = focus === null ? [0, 0] : next(focus);
    const { svg, place, x, y } = parts;
    const box = svg.getBoundingClientRect();
    const scale = box.width / place.width;
    look(cell, { clientX: box.left + (x(cell[0]) + place.cell) * scale, clientY: box.top + y(cell[1]) * scale });
  }

  onWidth(frame, render);
}

// Heat maps over a picture: one cell for each patch. A picture is a PNG in base64.
import { make } from "./dom.js";
import { exact } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const HOT = [216, 64, 20]; // what supports the label, or is looked at
const COLD = [32, 96, 208]; // what speaks against it

export function picture(png, name, side) {
  return make("img", { src: `data:image/png;base64,${png}`, alt: name, title: name, class: "pixels", style: `width:${side}px` });
}

// A map over the picture. values: [row * columns + column]; scale: the value of full colour; tell: the text of a value.
export function mapView({ png, name, size, rows, columns, values, scale, side = 168, tell = exact }) {
  const [width, height] = [side, Math.round((side * size[1]) / size[0])];
  const canvas = make("canvas", { width: columns, height: rows, class: "heat", style: `width:${width}px;height:${height}px` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  values.forEach((value, cell) => {
    const strength = Math.max(-1, Math.min(1, scale ? value / scale : 0));
    const [red, green, blue] = strength < 0 ? COLD : HOT;
    image.data.set([red, green, blue, Math.round(200 * Math.abs(strength))], 4 * cell);
  });
  context.putImageData(image, 0, 0);
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(columns - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * columns)));
    const row = Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * rows)));
    showTip(event.clientX, event.clientY, `row ${row + 1}, column ${column + 1}: ${tell(values[row * columns + column])}`);
  };
  return make("div", { class: "mapped", style: `width:${width}px;height:${height}px`, pointermove: point, pointerleave: hideTip },
    picture(png, name, width), canvas);
}

// A map with its name below.
export function withCaption(view, caption) {
  return make("figure", { class: "mapfigure" }, view, make("figcaption", {}, caption));
}

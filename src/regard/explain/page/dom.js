// Elements from values. A string is always text, never markup: nothing in this page sets innerHTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "style") node.style.cssText = value; // a server's policy forbids the attribute, not the property
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

// make("p", { class: "note", click: handler }, "text", child): an HTML element.
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A text element with its language; the text may run from right to left.
export function prose(tag, text, language, className) {
  return make(tag, { class: className, dir: "auto", lang: language }, text);
}

// Calls `render(width)` now and whenever the element's width changes.
export function onWidth(element, render) {
  let width = 0;
  const look = () => {
    const now = Math.floor(element.clientWidth);
    if (now === 0 || now === width) return;
    width = now;
    render(now);
  };
  look();
  // In the next frame: drawing changes sizes, which an observer must not do while it reports.
  new ResizeObserver(() => requestAnimationFrame(look)).observe(element);
}

let themed = []; // elements and their repaint functions

new MutationObserver(() => {
  themed = themed.filter(({ element }) => element.isConnected); // drop elements that left the page
  for (const { repaint } of themed) repaint();
}).observe(document.documentElement, { attributeFilter: ["data-theme"] });

// Calls `repaint()` whenever the page changes between dark and light, as long as the element is on it: a canvas does not follow its style.
export function onTheme(element, repaint) {
  themed.push({ element, repaint });
}

let ruler = null;

// The width in pixels of a text in the font that SVG labels have.
export function textWidth(text, size = 13) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// A long word for a narrow place. Counts code points, so no emoji is cut in two halves.
export function shorten(text, limit = 16) {
  const characters = Array.from(text);
  return characters.length <= limit ? text : characters.slice(0, limit - 1).join("") + "…";
}

// A placeholder for missing content.
export function empty(text) {
  return make("p", { class: "empty" }, text);
}

// The page of one picture: what the network read, what it said, where it looked, and which patches matter.
import { make } from "./dom.js";
import { masthead } from "./masthead.js";
import { pictureView } from "./pictureviews.js";

const { pictures } = JSON.parse(document.getElementById("data").textContent);

document.getElementById("top").append(masthead("explanation"));
for (const one of pictures) {
  document.title = `${one.picture} · regard`;
  document.getElementById("main").append(make("h1", { class: "source-text" }, one.picture));
  pictureView(document.getElementById("main"), one);
}
document.getElementById("foot").append("This page is one file and loads nothing from elsewhere.");
document.documentElement.dataset.ready = "true";

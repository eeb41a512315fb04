"""The page of a sentence in a real browser, walked through as a person would: every number it shows is one of the API's."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from explain.browser import BROWSER, dom_of
from explain.models import trained_model
from regard.explain.explanation import Explanation
from regard.explain.sentence_page import render_sentences
from regard.explain.what_if import Change

pytestmark = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")

HOSTILE = "la pomme <b>est</b> </script><script>alert(1)</script> שלום 🍎 {{data}}"

WALK = r"""
const seen = {};
const tip = document.getElementById("tip");
const rows = () => Object.fromEntries([...tip.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent)));
const told = () => ({ title: tip.querySelector("strong").textContent, ...rows() });
const part = (id, number = 0) => document.querySelectorAll(`#${id} .card`)[number];
const press = (box, text) => [...box.querySelectorAll("button")].find((button) => button.textContent === text).click();
const choose = (box, label, value) => {
  const select = box.querySelector(`select[aria-label="${label}"]`);
  select.value = String(value);
  select.dispatchEvent(new Event("change"));
};
// Points at a cell of a matrix by the keyboard: down and right from the first.
const point = (svg, row, column) => {
  const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", { key }));
  press("ArrowDown"); // the first cell
  for (let step = 0; step < row; step += 1) press("ArrowDown");
  for (let step = 0; step < column; step += 1) press("ArrowRight");
  const found = told();
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  return found;
};

seen.title = document.querySelector("h1").textContent;
seen.parts = [...document.querySelectorAll("section")].map((section) => [section.id, section.querySelectorAll(".card").length]);
seen.translations = [...document.querySelectorAll(".translation")].map((line) => line.textContent);

const map = part("alignment").querySelector(".map");
const cell = map.querySelectorAll(".cell")[1].getBoundingClientRect();
map.dispatchEvent(new PointerEvent("pointermove", { clientX: cell.x + cell.width / 2, clientY: cell.y + cell.height / 2 }));
seen.alignment = [...tip.children].map((line) => line.textContent);
seen.methods = [...part("alignment").querySelectorAll("option")].map((option) => option.textContent);
choose(part("alignment"), "method", 2);
const other = part("alignment").querySelector(".map");
other.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
seen.zeroing = [...tip.children].map((line) => line.textContent);

const heads = part("heads");
seen.thumbs = heads.querySelectorAll(".thumb").length;
const matrix = heads.querySelector(".matrix");
const box = matrix.getBoundingClientRect();
const canvas = heads.querySelector(".matrix-frame canvas").getBoundingClientRect();
matrix.dispatchEvent(new PointerEvent("pointermove", { clientX: canvas.x + 2, clientY: canvas.y + 2 }));
seen.hovered = told();
const painted = heads.querySelector(".matrix-frame canvas").getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
seen.ink = painted.data.some((value) => value > 0);
heads.querySelector('.thumb[data-layer="0"][data-head="1"]').click();
seen.chosen = heads.querySelector("h3:not(.whose)").textContent;
seen.crossHead = point(heads.querySelector(".matrix"), 1, 2);
press(heads, "encoder");
heads.querySelector('.thumb[data-layer="1"][data-head="0"]').click();
seen.encoderHead = point(heads.querySelector(".matrix"), 3, 0);
seen.recurrentThumbs = part("heads", 1).querySelectorAll(".thumb").length;
seen.recurrentHead = point(part("heads", 1).querySelector(".matrix"), 0, 1);

const step = part("step");
press(step, "decoder");
choose(step, "step", 1);
choose(step, "layer", 0);
choose(step, "head", 1);
const cells = (line) => [...line.querySelectorAll(".number")].map((one) => one.textContent);
seen.step = [...step.querySelectorAll(".step-table:not(.outputs) tbody tr")].slice(0, 3).map(cells);
seen.outputs = [...step.querySelectorAll(".outputs tr")].map((line) => [line.querySelector("th").textContent, ...cells(line)]);
seen.strips = [...step.querySelectorAll(".step-line .strip")].map((one) => one.getAttribute("aria-label"));
const strip = step.querySelector(".step-line .strip");
const place = strip.getBoundingClientRect();
strip.dispatchEvent(new PointerEvent("pointermove", { clientX: place.x + 0.5, clientY: place.y + 2 }));
seen.unit = tip.textContent;

const search = part("search");
seen.searches = [...search.querySelectorAll("tbody tr")].map((line) => cells(line));
seen.noTreeYet = document.querySelectorAll(".tree").length;
seen.trees = {};
for (const name of ["greedy", "beam", "exact"]) {
  const details = search.querySelector(`details.${name}`);
  details.open = true;
  await new Promise((done) => setTimeout(done, 200));
  const look = (state) => {
    const node = details.querySelector(`.tree .node.${state}`);
    node?.dispatchEvent(new PointerEvent("pointerenter", { clientX: 10, clientY: 10 }));
    return node && { ...told(), why: tip.querySelector("small").textContent };
  };
  seen.trees[name] = { nodes: details.querySelectorAll(".tree .node").length, best: look("best"), cut: look("cut"), first: look("kept") };
}

const maps = part("attribution").querySelectorAll(".matrix");
seen.attribution = [point(maps[1], 1, 1), point(maps[2], 1, 1)];
seen.agreement = [...part("attribution").querySelectorAll(".agreement tbody tr")]
  .map((line) => [...line.children].map((one) => one.textContent));
seen.changes = [...part("what-if").querySelectorAll(".change")].map((one) => [
  one.querySelector("h3").textContent, one.querySelector("dd").textContent, one.querySelector(".kept").textContent]);
seen.reach = point(part("structure").querySelector(".matrix"), 2, 1);

document.querySelector(".theme").click();
await new Promise((done) => setTimeout(done, 100));
seen.alerts = document.querySelectorAll("b").length;
const note = document.createElement("pre");
note.id = "seen";
note.textContent = JSON.stringify(seen);
document.body.append(note);
"""


@pytest.fixture(scope="module")
def explanations() -> list[Explanation]:
    changes = [Change(mask="pomme"), Change(replace=("la", "le"))]
    return [
        trained_model("transformer").explain(HOSTILE, changes=changes, name="attention <i>only</i>"),
        trained_model("recurrent").explain(HOSTILE, changes=changes, name="recurrent"),
    ]


def number(text: str) -> float:
    return float(text.replace(" ", "").replace("−∞", "-inf"))


def same(text: str, value: float) -> bool:
    """The page shows six significant digits, and below 1e-4 five."""
    return number(text) == pytest.approx(float(value), rel=1e-4, abs=1e-12)


def test_a_walk_through_the_page(explanations: list[Explanation], tmp_path: Path) -> None:
    text = render_sentences(explanations).replace("</body>", f'<script type="module">{WALK}</script></body>')
    dom = dom_of(text, tmp_path)
    [note] = re.findall(r'<pre id="seen">(.*?)</pre>', dom, flags=re.DOTALL)
    seen: dict[str, Any] = json.loads(html.unescape(note))
    first, second = explanations
    source, target = first.source, first.target

    assert seen["title"] == source.text == HOSTILE
    assert seen["alerts"] == 0
    assert dom.count("<script") == text.count("<script")
    names = ("alignment", "heads", "step", "search", "attribution", "what-if", "structure")
    assert seen["parts"] == [[name, 2] for name in names]
    assert seen["translations"] == [first.target.text, second.target.text]

    assert seen["methods"] == ["attention", "norm", "zeroing"]
    attention, zeroing = first.alignments["attention"], first.alignments["zeroing"]
    assert seen["alignment"][0] == f"{source.words[1]} → {target.words[0]}"
    assert same(seen["alignment"][1].removeprefix("weight "), attention.weights[0][1])
    assert same(seen["zeroing"][1].removeprefix("weight "), zeroing.weights[0][0])

    cross, encoder = first.attention["cross"], first.attention["encoder"]
    assert seen["thumbs"] == 4
    assert seen["ink"] is True
    assert seen["hovered"]["title"] == f"{source.tokens[0]} → {target.tokens[0]}"
    assert same(seen["hovered"]["weight"], cross.values[1, 0, 0, 0])
    assert seen["chosen"] == "cross, layer 1, head 2"
    assert seen["crossHead"]["title"] == f"{source.tokens[2]} → {target.tokens[1]}"
    assert same(seen["crossHead"]["weight"], cross.values[0, 1, 1, 2])
    assert same(seen["encoderHead"]["weight"], encoder.values[1, 0, 3, 0])
    assert seen["recurrentThumbs"] == 1
    assert same(seen["recurrentHead"]["weight"], second.attention["cross"].values[0, 0, 0, 1])

    steps = first.computation["decoder"]
    for key, (score, masked, weight) in enumerate(seen["step"]):
        assert same(score, steps.scores.values[0, 1, 1, key])
        assert same(masked, steps.masked.values[0, 1, 1, key])
        assert same(weight, first.attention["decoder"].values[0, 1, 1, key])
    assert seen["step"][2][1] == "−∞"  # the second step has read the start and one token
    assert [row[0] for row in seen["outputs"]] == list(first.outputs.tokens[1])
    for rank, row in enumerate(seen["outputs"]):
        assert same(row[1], first.outputs.probabilities.values[1, rank])
    assert [name.split(":")[0] for name in seen["strips"]] == ["q", "Σ weight · v", "concatenation", "output"]
    assert same(seen["unit"].split("unit 1: ")[1], steps.query.values[0, 1, 1, 0])

    for search, row in zip(first.searches, seen["searches"], strict=True):
        assert same(row[0], search.logprob)
        assert same(row[1], search.score)
    assert seen["noTreeYet"] == 0
    for search in first.searches:
        shown, nodes = seen["trees"][search.name], search.tree.nodes
        assert shown["nodes"] == len(nodes)
        [best] = [node for node in nodes if node.state == "best"]
        assert same(shown["best"]["score"], best.score)
        assert same(shown["best"]["log-probability"], best.logprob)
    cut, root = seen["trees"]["beam"]["cut"], first.searches[2].tree.nodes[0]
    assert cut["why"] == "cut: others scored higher"
    assert number(cut["the weakest that was kept"]) >= number(cut["log-probability"])
    assert root.bound is not None
    assert root.hopeful is not None
    assert same(seen["trees"]["exact"]["first"]["the best known then"], root.bound)
    assert same(seen["trees"]["exact"]["first"]["likelier continuations"], root.hopeful)

    assert first.attribution is not None
    assert same(seen["attribution"][0]["change of log p"], first.attribution.occlusion.values[1, 1])
    assert same(seen["attribution"][1]["change of log p"], first.attribution.gradients.values[1, 1])
    for agreement, row in zip(first.attribution.agreement, seen["agreement"], strict=True):
        assert row[0] == f"{agreement.one} and {agreement.other}"
        assert agreement.kendall is not None
        assert agreement.spearman is not None
        assert same(row[1], agreement.kendall)
        assert same(row[2], agreement.spearman)
    for change, row in zip(first.what_if, seen["changes"], strict=True):
        assert row[:2] == [change.name, change.text]
        assert same(row[2].removeprefix("of the old translation now "), change.kept_logprob)
    assert first.structure is not None
    assert same(seen["reach"]["change"], first.structure.reach.values[2, 1])

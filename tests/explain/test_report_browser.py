"""The report in a real browser. Skipped where there is none: `apt-get install chromium` brings one."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explain.browser import BROWSER, dom_of, measured, texts
from explain.models import explained, tokenizers, trained_model
from regard.explain.records import Report, SentenceResult, Transitions
from regard.explain.report import render
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig
from regard.tasks.translate.translator import Translator

pytestmark = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")

# A person's walk through the page; what they see at each stop is written down in the page itself.
WALK = r"""
const seen = {};
const pause = () => new Promise((done) => setTimeout(done, 100));
const tip = document.getElementById("tip");
const rows = () => Object.fromEntries([...tip.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent)));

const plot = document.querySelector(".plot svg");
plot.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
seen.lastStep = { title: tip.querySelector("strong").textContent, ...rows() };
seen.crosshairs = document.querySelectorAll(".crosshair").length;
plot.dispatchEvent(new PointerEvent("pointerleave"));
seen.hiddenAfter = tip.hidden;

const flows = [...document.querySelectorAll("#gradients .flow svg")];
seen.flowLabels = [...flows[0].querySelectorAll("text.tick")].map((label) => label.textContent).slice(0, 5);
seen.jumps = flows.map((flow) => flow.querySelectorAll(".jump").length);
seen.warning = document.querySelector("#gradients .warning").textContent;
seen.depth = document.querySelector("#gradients .depth").textContent;
seen.shades = flows.map((flow) => [...flow.querySelectorAll(".shade")].map((shade) => getComputedStyle(shade).fill));
const frame = flows[0].querySelector(".jump").getBoundingClientRect();
flows[0].dispatchEvent(new PointerEvent("pointermove", { clientX: frame.x + frame.width / 2, clientY: frame.y + frame.height / 2 }));
seen.flowCell = { title: tip.querySelector("strong").textContent, ...rows() };
seen.flowPointers = flows.map((flow) => flow.querySelectorAll(".bands rect").length);
flows[1].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" }));
seen.flowAbove = tip.querySelector("strong").textContent;
flows[1].dispatchEvent(new PointerEvent("pointerleave"));

const chooser = document.querySelector("#alignment select");
chooser.value = "1";
chooser.dispatchEvent(new Event("change"));
const map = document.querySelector(".map");
seen.cells = map.querySelectorAll(".cell").length;
seen.gold = map.querySelectorAll(".gold").length;
const cell = map.querySelectorAll(".cell")[4 * 1 + 3].getBoundingClientRect();
map.dispatchEvent(new PointerEvent("pointermove", { clientX: cell.x + cell.width / 2, clientY: cell.y + cell.height / 2 }));
seen.cell = [...tip.children].map((line) => line.textContent);
seen.lit = [...map.querySelectorAll(".word.lit")].map((word) => word.textContent);

seen.nodes = document.querySelectorAll(".tree .node").length;
const winner = document.querySelector(".tree .node.best");
winner.dispatchEvent(new PointerEvent("pointerenter", { clientX: 10, clientY: 10 }));
seen.winner = { title: tip.querySelector("strong").textContent, ...rows() };
seen.path = [...document.querySelectorAll(".tree .node.lit text")].map((word) => word.textContent);
document.querySelector("#search input").click();
seen.nodesWithoutCut = document.querySelectorAll(".tree .node").length;

const before = document.documentElement.dataset.theme;
document.querySelector(".theme").click();
seen.themes = [before, document.documentElement.dataset.theme];
await pause();
const note = document.createElement("pre");
note.id = "seen";
note.textContent = JSON.stringify(seen);
document.body.append(note);
"""


def test_the_page_shows_the_numbers(full_report: Report, tmp_path: Path) -> None:
    explained = trained_model().explain("la pomme est rouge", parts=("computation",))
    dom = dom_of(render(replace(full_report, explanation=explained)), tmp_path)
    assert len(re.findall(r'class="thumb"', dom)) == 4  # the views of a sentence's own page
    assert f"{explained.attention['cross'].values[1, 0, 0, 0]:.6g}" in texts(dom, "td")
    figures = [text for text in texts(dom, "dd") if text]
    assert figures[0::2][:8] == ["97.3", "98.6", "98.6 %", "1.09", "0.083", "3.32 M", "2 min 40 s", "12.2 k"]
    curves = re.findall(r'<path class="curve (\w+)', dom)
    assert sorted(curves) == sorted(["faint", "line", "dots", "dots", "dots", "line", "faint", "line", "line"])
    cells = texts(dom, "td")
    for event in full_report.events:
        if event["event"] == "validated":
            assert f"{event['bleu']:.6g}" in cells
    for signature in full_report.metrics["signatures"].values():
        assert signature in cells
    assert "muon" in cells
    assert texts(dom, "mark")[-4:] == ["ropes", "cats", "and", "dogs"]


def test_a_walk_through_the_page(full_report: Report, tmp_path: Path) -> None:
    text = render(full_report).replace("</body>", f'<script type="module">{WALK}</script></body>')
    [note] = re.findall(r'<pre id="seen">(.*?)</pre>', dom_of(text, tmp_path), flags=re.DOTALL)
    seen: dict[str, Any] = json.loads(html.unescape(note))

    last = full_report.events[-3]
    validation = full_report.events[-2]
    assert seen["lastStep"]["title"] == "step 1,000 · the best"
    assert float(seen["lastStep"]["every step"]) == pytest.approx(last["nll"], rel=1e-5)
    assert float(seen["lastStep"]["validation"]) == pytest.approx(validation["loss"], rel=1e-5)
    assert seen["crosshairs"] == 5
    assert seen["hiddenAfter"] is True

    [looked_at] = [event for event in full_report.events if event["event"] == "diagnosed" and event["step"] == 510]
    part = looked_at["parts"][3]
    assert seen["flowLabels"] == [part["name"] for part in looked_at["parts"]]
    assert seen["jumps"] == [2, 0]  # up, and down again
    assert "At 2 steps a gradient jumped" in seen["warning"]
    assert "decoder.0.attention at step 510, 1000 times as long" in seen["warning"]
    assert seen["depth"] == (  # one row apart, and each row has half the gradient of the next
        "From encoder.1.attention back to encoder.0.attention the length of the gradient is multiplied by 0.5 at step 110 "
        "and by 0.5 at step 960."
    )
    assert all(len(set(shades)) == len(shades) > 3 for shades in seen["shades"])
    assert seen["flowCell"]["title"] == "decoder.0.attention, step 510"
    for name, field in {"gradient": "gradient", "weights": "weight", "update / weights": "ratio"}.items():
        assert float(seen["flowCell"][name]) == pytest.approx(part[field], rel=1e-5)
    assert seen["flowPointers"] == [1, 1]
    assert seen["flowAbove"] == "encoder.1.attention, step 510"

    drawn = full_report.alignments[1]
    assert seen["cells"] == len(drawn.source_words) * len(drawn.target_words)
    assert seen["gold"] == len(drawn.gold or ())
    assert seen["cell"] == ["entarté → hit", f"weight {drawn.weights[1][3]:.6g}", "predicted link, true link"]
    assert seen["lit"] == ["entarté", "hit"]

    assert full_report.beam_tree is not None
    nodes = full_report.beam_tree.nodes
    [best] = [node for node in nodes if node.state == "best"]
    assert seen["nodes"] == len(nodes)
    assert seen["nodesWithoutCut"] == sum(node.state != "cut" for node in nodes)
    assert seen["winner"]["title"] == "he hit me with a pie . </s>"
    assert float(seen["winner"]["score"]) == pytest.approx(best.score, rel=1e-5)
    assert float(seen["winner"]["log-probability"]) == pytest.approx(best.logprob, rel=1e-5)
    assert seen["path"] == ["start", "he", "hit", "me", "with", "a", "pie", ".", "</s>"]
    assert sorted(seen["themes"]) == ["dark", "light"]


def test_every_logged_score_has_a_curve_and_a_column(tmp_path: Path) -> None:
    scores = {"perplexity": 2.5, "accuracy": 0.875, "f1": 0.5, "bits_per_byte": 1.25}
    events = [{"event": "validated", "step": step, "seconds": 1.0, "loss": 1.0, **scores} for step in (10, 20)]
    dom = dom_of(render(Report("labels", events=events)), tmp_path)
    titles = [title for title in texts(dom, "figcaption") if "validation," in title or title.startswith("F1")]
    assert titles == ["Bits per byte validation, lower is betterlog scale", "Accuracy validation, %", "F1 validation"]
    headings = ["step", "time", "loss", "perplexity", "bits per byte", "accuracy", "F1"]
    assert texts(dom, "th")[: len(headings)] == headings
    assert texts(dom, "td")[:6] == ["1 s", "1", "2.5", "1.25", "87.5 %", "0.5"]


def test_hostile_text_is_shown_as_text(full_report: Report, hostile: str, tmp_path: Path) -> None:
    worst = [SentenceResult(hostile, "reference", hostile, -1.0, 10.0)]
    dom = dom_of(render(replace(full_report, title=hostile, worst=worst)), tmp_path)
    assert len(re.findall(r"<script\b", dom)) == 3
    assert "<b>" not in dom
    assert texts(dom, "h1") == [hostile.replace("\ud800", "\ufffd")]


@pytest.mark.parametrize("part", ["nothing", "aborted"])
def test_an_unfinished_run_has_a_page_too(full_report: Report, tmp_path: Path, part: str) -> None:
    if part == "nothing":
        dom = dom_of(render(Report("nothing")), tmp_path)
        assert "No training step has been logged." in dom
        assert "The model has not been evaluated yet." in dom
        return
    events = [dict(event) for event in full_report.events[:100]]
    events[40] |= {"nll": None, "loss": None}
    dom = dom_of(render(Report("aborted", events=events)), tmp_path)
    assert "1 step had a loss or gradient that is not a finite number, the first at step 41" in dom
    assert "No validation has been made yet" in dom
    assert 'id="gradients"' not in dom
    assert len(re.findall(r'<path class="lost"', dom)) == 2


SIZES = """(() => {
  const page = document.documentElement;
  const inside = (selector) => [...document.querySelectorAll(selector)].map((part) => part.scrollWidth <= part.clientWidth);
  const strips = document.querySelectorAll("#step .strip").length;
  return { page: page.scrollWidth <= page.clientWidth, frames: inside("#step .scroll"), strips };
})()"""


def test_one_step_of_a_recurrent_model_fits_the_page(tmp_path: Path) -> None:
    """Its only head has vectors of 256 numbers; the weights beside them must not be pushed out of sight."""
    pair = tokenizers()
    network = build_translator(
        RecurrentConfig(width=256), len(pair.source.vocabulary), len(pair.target.vocabulary), False
    )
    model = explained(Translator(network.eval(), pair))
    page = render(
        Report("wide", explanation=model.explain("la pomme est rouge", target="the apple", parts=("computation",)))
    )
    wide, narrow = (measured(page, tmp_path, SIZES, width) for width in (1280, 500))
    keys = len(pair.source.encode("la pomme est rouge")) + 1  # with the end mark
    assert wide["strips"] == 2 * keys + 2  # keys and values, the query and the context
    assert wide["page"]
    assert narrow["page"]
    assert all(wide["frames"])


def test_the_transition_matrix_is_a_table(tmp_path: Path) -> None:
    rows = [[0.0, 1 / 3, 2 / 3, 0.0], [1.0, 0.0, 0.0, 0.0], [0.004, 0.5, 0.2, 0.296]]
    matrix = Transitions(
        ["<b>my", "please", "… pale"], ["a" * 30, "b", "c", "⟨end⟩"], rows, [False, False, True], 1234, 4
    )
    page = render(Report("counted", transitions=matrix, events=[{"event": "stopped", "step": 1, "reason": "counted"}]))
    dom = dom_of(page, tmp_path)
    [table] = re.findall(r'<table class="numbers transitions">.*?</table>', dom, flags=re.DOTALL)
    assert texts(table, "td") == ["0", ".33", ".67", "0", "1", "0", "0", "0", "<.01", ".5", ".2", ".3"]
    assert texts(table, "th")[1:] == ["a" * 30, "b", "c", "⟨end⟩", "<b>my", "please", "… pale"]
    assert table.count('class="hidden-key"') == 1
    assert "p(b after &lt;b&gt;my) = 0.333333" in table
    assert "Shown are the 3 most frequent of 1,234 rows. A pale row is a masked pair, which has no vote." in dom
    assert "How it learned" not in texts(dom, "h2")
    assert measured(page, tmp_path, SIZES, 500)["page"]

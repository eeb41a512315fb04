import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.explain.caption_page import CAPTION_SCRIPTS
from regard.explain.curves import CURVE_POINTS, samples_over_time, smooth, thin, training_curves
from regard.explain.document import TEXT_LIMIT, page_file
from regard.explain.failures.page import SCRIPTS as FAILURE_SCRIPTS
from regard.explain.picture_page import PICTURE_SCRIPTS
from regard.explain.records import AlignmentMap, Report, SearchTree, SentenceResult, TreeNode
from regard.explain.report import MAP_CELLS, SCRIPTS, render, write_report
from regard.explain.sentence_page import SENTENCE_SCRIPTS
from regard.tasks.run_files import read_events


class Page(HTMLParser):
    """The parts that a browser's parser finds: scripts with their text, attributes, and the title."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.tags: list[str] = []
        self.title = self.style = ""
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        if self.inside == "title":
            self.title += data
        if self.inside == "style":
            self.style += data


def data_of(report: Report) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    [_, data, _] = Page(render(report)).scripts
    return json.loads(data, parse_constant=refuse)


def test_the_page_loads_nothing_from_elsewhere(full_report: Report) -> None:
    page = Page(render(full_report))
    loading = [
        (tag, name, value) for tag, name, value in page.attributes if name in ("src", "srcset", "href", "action")
    ]
    assert [value for _, _, value in loading if not value.startswith(("#", "data:"))] == []
    assert "@import" not in page.style
    assert "url(" not in page.style
    code = page.scripts[0] + page.scripts[2]
    assert re.findall(r"fetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport\b", code) == []
    [policy] = [value for tag, _, value in page.attributes if tag == "meta" and value and "default-src" in value]
    assert policy.startswith("default-src 'none';")


def test_no_script_turns_text_into_markup() -> None:
    for name in {*SCRIPTS, *SENTENCE_SCRIPTS}:
        assert (
            re.findall(r"\.innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|</script", page_file(name))
            == []
        ), name


def test_hostile_text_stays_text(full_report: Report, hostile: str) -> None:
    sentence = SentenceResult(hostile, hostile, hostile, -1.0, 10.0)
    event = {
        "event": "validated",
        "step": 1,
        "samples": [{"source": hostile, "reference": hostile, "hypothesis": hostile}],
    }
    report = replace(
        full_report,
        title=hostile,
        reproduce=hostile,
        settings={hostile: hostile},
        events=[*full_report.events, event, {"event": "diagnosed", "step": 2000, "parts": [{"name": hostile}]}],
        worst=[sentence],
        alignments=[AlignmentMap([hostile], [hostile], [[1.0]], [(0, 0)])],
        beam_tree=SearchTree(hostile, [TreeNode(0, None, hostile, 0.0, 0.0, "best", 0)], 1, 1.0),
    )
    text = render(report)
    text.encode("utf-8")
    page = Page(text)
    assert page.tags == Page(render(full_report)).tags
    shown = hostile.replace("\ud800", "\ufffd")
    assert page.title == f"{shown} · regard"
    data = json.loads(page.scripts[1])
    assert data["title"] == data["reproduce"] == data["worst"][0]["source"] == shown
    assert data["settings"] == [[shown, shown]]
    assert data["alignments"][0]["source_words"] == data["flow"]["parts"] == [shown]
    assert data["beam_tree"]["nodes"][0]["text"] == shown
    assert data["samples"][0]["attempts"][0]["hypothesis"] == shown
    assert not set("<>&\u2028\u2029") & set(page.scripts[1])


def test_the_page_holds_exactly_the_numbers_given(full_report: Report) -> None:
    data = data_of(full_report)
    assert data["metrics"] == full_report.metrics
    for shown, given_map in zip(data["alignments"], full_report.alignments, strict=True):
        assert shown["weights"] == given_map.weights
        assert shown["links"] == [list(link) for link in given_map.links]
        assert shown["gold"] == (None if given_map.gold is None else [list(link) for link in given_map.gold])
    assert full_report.beam_tree is not None
    scores = [(node.id, node.parent, node.logprob, node.score, node.state) for node in full_report.beam_tree.nodes]
    nodes = data["beam_tree"]["nodes"]
    assert [(node["id"], node["parent"], node["logprob"], node["score"], node["state"]) for node in nodes] == scores
    steps = {event["step"]: event for event in full_report.events if event["event"] == "step"}
    validations = [event for event in full_report.events if event["event"] == "validated"]
    assert all(steps[step]["nll"] == value for step, value in data["curves"]["loss"])
    assert all(steps[step]["learning_rate"] == value for step, value in data["curves"]["learning_rate"])
    assert data["curves"]["scores"]["bleu"] == [[event["step"], event["bleu"]] for event in validations]
    looks = [event["parts"] for event in full_report.events if event["event"] == "diagnosed"]
    for field in ("gradient", "weight", "update", "ratio"):
        for row, shown_row in enumerate(data["flow"][field]):
            assert shown_row == pytest.approx([parts[row][field] for parts in looks], rel=1e-5)
    assert [row["perplexity"] for row in data["validations"]] == [event["perplexity"] for event in validations]


def test_headline_numbers(full_report: Report) -> None:
    cards = {card["key"]: card for card in data_of(full_report)["cards"]}
    assert list(cards) == [
        *("bleu", "chrf", "exact_match", "perplexity"),
        *("aer", "parameters", "seconds", "tokens_per_second"),
    ]
    assert cards["bleu"]["value"] == 97.31415926
    assert cards["bleu"]["note"] == "test set"
    assert cards["tokens_per_second"]["value"] == 1_953_112 / 160.4


def test_without_final_metrics_the_best_validation_stands_in(full_report: Report) -> None:
    events = [event for event in full_report.events if event["step"] <= 760]  # the validation at 750 was not the best
    data = data_of(replace(full_report, events=events, metrics={}))
    cards = {card["key"]: card for card in data["cards"]}
    [best] = [event for event in events if event["event"] == "validated" and event["step"] == 625]
    assert cards["bleu"] == {
        "key": "bleu",
        "label": "BLEU",
        "value": best["bleu"],
        "kind": "score",
        "note": "validation, step 625",
    }
    assert "aer" not in cards
    assert "parameters" not in cards
    assert data["curves"]["best_step"] == 625
    assert data["status"] == {"steps": 760, "seconds": 760 * 0.16, "epoch": 2, "reason": None}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(4, 60))
def test_thinning_keeps_the_ends_and_the_extremes(values: list[float], limit: int) -> None:
    points = list(enumerate(values))
    kept = thin(points, limit)
    assert len(kept) <= max(limit, 4)
    assert kept == sorted(set(kept))
    assert set(kept) <= set(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert {min(values), max(values)} <= {value for _, value in kept}
    if len(points) <= limit:
        assert kept == points


def test_smoothing_by_hand() -> None:
    # Two thirds of three points: each neighbour counts half of the one nearer by.
    smoothed = smooth([(5, 0.0), (6, 0.0), (9, 1.0)], part=2 / 3)
    assert [step for step, _ in smoothed] == [5, 6, 9]
    assert [value for _, value in smoothed] == pytest.approx([0.25 / 1.75, 0.5 / 2, 1 / 1.75])


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300))
def test_smoothing_stays_in_range_and_has_no_direction(values: list[float]) -> None:
    points = list(enumerate(values))
    smoothed = [value for _, value in smooth(points, part=0.1)]
    assert min(values) - 1e-6 <= min(smoothed) <= max(smoothed) <= max(values) + 1e-6
    mirrored = [value for _, value in smooth(list(enumerate(values[::-1])), part=0.1)]
    assert mirrored[::-1] == pytest.approx(smoothed, abs=1e-6)


def test_a_long_run_makes_a_light_page(full_report: Report) -> None:
    steps = [dict(full_report.events[0], step=step, nll=1 + (step * 7919 % 1000) / 1000) for step in range(1, 50_001)]
    steps[31_234] |= {"nll": 77.0}
    validation = next(event for event in full_report.events if event["event"] == "validated")
    validations = [dict(validation, step=step, bleu=step / 1000) for step in range(100, 50_001, 100)]
    text = render(replace(full_report, events=[*steps, *validations]))
    curves = json.loads(Page(text).scripts[1])["curves"]
    assert (
        max(len(curves[name]) for name in curves if name.startswith(("loss", "learning", "gradient"))) == CURVE_POINTS
    )
    assert [31_235, 77.0] in curves["loss"]
    assert curves["scores"]["bleu"] == [[step, step / 1000] for step in range(100, 50_001, 100)]
    assert len(text.encode()) < 1_000_000


def test_losses_that_are_not_numbers_are_told_apart() -> None:
    values = {1: 3.0, 2: math.nan, 3: None, 4: math.inf, 5: 1.0}
    events = [
        {"event": "step", "step": step, "nll": value, "loss": value, "learning_rate": 0.1}
        for step, value in values.items()
    ]
    data = data_of(Report("broken", events=events))
    assert data["curves"]["loss"] == [[1, 3.0], [5, 1.0]]
    assert data["curves"]["lost_steps"] == [2, 3, 4]


def test_a_log_without_likelihoods_draws_the_objective() -> None:
    curves = training_curves([{"event": "step", "step": 1, "loss": 4.0}])
    assert (curves["loss"], curves["objective_smooth"]) == ([(1, 4.0)], [])


def test_of_a_resumed_run_the_later_line_counts() -> None:
    events = [
        {"event": "step", "step": 1, "nll": 5.0},
        {"event": "step", "step": 2, "nll": 9.0},
        {"event": "stopped", "step": 2, "reason": "interrupted"},
        {"event": "step", "step": 2, "nll": 4.0},
    ]
    data = data_of(Report("resumed", events=events))
    assert data["curves"]["loss"] == [[1, 5.0], [2, 4.0]]
    assert data["status"]["reason"] is None
    assert data_of(Report("stopped", events=events[:3]))["status"]["reason"] == "interrupted"


def test_samples_say_an_unchanged_translation_once() -> None:
    said = ["the", "the cat", "the cat", "the cat", "a cat"]
    events = [
        {
            "event": "validated",
            "step": 10 * i,
            "samples": [{"source": "le chat", "reference": "the cat", "hypothesis": text}],
        }
        for i, text in enumerate(said, start=1)
    ]
    [sample] = samples_over_time(events)
    assert (sample["source"], sample["reference"]) == ("le chat", "the cat")
    assert [(a["first"], a["last"], a["hypothesis"]) for a in sample["attempts"]] == [
        (10, 10, "the"),
        (20, 40, "the cat"),
        (50, 50, "a cat"),
    ]


@pytest.mark.parametrize(
    "missing",
    [
        {"events": ()},
        {"metrics": {}},
        {"alignments": ()},
        {"beam_tree": None},
        {"worst": (), "best": ()},
        {"settings": {}, "reproduce": ""},
        {"source_language": None, "target_language": None},
        {"metrics": {"bleu": None, "aer": None, "signatures": None}},
        {"events": [{"event": "stopped", "step": 0, "reason": "interrupted", "seconds": 0.0}]},
        {"events": [{"event": "validated", "step": 5, "loss": None, "bleu": 3.0}]},
    ],
    ids=lambda missing: "+".join(missing),
)
def test_a_missing_part_leaves_the_others(full_report: Report, missing: dict) -> None:
    data, whole = data_of(replace(full_report, **missing)), data_of(full_report)
    assert data.keys() == whole.keys()
    if "events" not in missing:
        assert data["curves"] == whole["curves"]
    if "alignments" not in missing:
        assert data["alignments"] == whole["alignments"]


def test_long_texts_are_cut_and_huge_maps_left_out() -> None:
    side = math.isqrt(MAP_CELLS) + 1
    huge = AlignmentMap(["a"] * side, ["b"] * side, [[1.0] * side] * side, [])
    small = AlignmentMap(["a"], ["b"], [[1.0]], [])
    long = SentenceResult("x" * 100_000, "", "", 0.0, 0.0)
    data = data_of(Report("long", worst=[long], alignments=[huge, small]))
    assert data["worst"][0]["source"] == "x" * (TEXT_LIMIT - 1) + "…"
    assert (len(data["alignments"]), data["alignments_left_out"]) == (1, 1)


def test_settings_are_flat_and_spelled_as_in_a_config() -> None:
    settings = {"model": {"layers": 3, "tied": True}, "data": {"src": None}, "name": "run"}
    assert data_of(Report("settings", settings=settings))["settings"] == [
        ["model.layers", "3"],
        ["model.tied", "true"],
        ["data.src", "–"],
        ["name", "run"],
    ]


def test_reading_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes('{"event":"step","step":1,"nll":NaN}\n\n{"event":"note","text":"a\u2028b"}\n{"event":"st'.encode())
    first, second = read_events(path)
    assert first["step"] == 1
    assert math.isnan(first["nll"])
    assert second["text"] == "a\u2028b"


@pytest.mark.parametrize("content", [b'{"a":1}\n{"b":\n{"c":1}\n', b'{"a":1}\n[1]\n', b'{"a":1}\n\xff\xfe\n'])
def test_a_damaged_log_is_named_with_its_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"log\.jsonl:2: not a JSON object"):
        read_events(path)


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"log\.jsonl: cannot read the log \(No such file"):
        read_events(tmp_path / "log.jsonl")


def test_a_report_replaces_the_one_before(tmp_path: Path, full_report: Report) -> None:
    path = tmp_path / "run" / "report.html"
    write_report(Report("first"), path)
    write_report(full_report, path)
    assert path.read_text(encoding="utf-8") == render(full_report)
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_records_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ValueError, match="1 rows of"):
        AlignmentMap(["a", "b"], ["c", "d"], [[0.5, 0.5]], [])
    with pytest.raises(ValueError, match="link 2-0 is outside"):
        AlignmentMap(["a", "b"], ["c"], [[0.5, 0.5]], [(0, 0)], gold=[(2, 0)])
    root = TreeNode(0, None, "", 0.0, 0.0, "kept", 0)
    with pytest.raises(ValueError, match="names parent 7"):
        SearchTree("a", [root, TreeNode(1, 7, "b", -1.0, -1.0, "kept", 1)], 1, 1.0)
    with pytest.raises(ValueError, match="must come after its parent"):
        SearchTree("a", [root, TreeNode(1, 0, "b", -1.0, -1.0, "kept", 0)], 1, 1.0)
    with pytest.raises(ValueError, match="ids must differ"):
        SearchTree("a", [root, root], 1, 1.0)


@pytest.mark.parametrize("scripts", [SCRIPTS, SENTENCE_SCRIPTS, PICTURE_SCRIPTS, CAPTION_SCRIPTS])
def test_the_modules_can_be_joined(scripts: tuple[str, ...]) -> None:
    """One inline module is made of many: imports must name what an earlier one exports, and no name may be taken twice."""
    exported: dict[str, set[str]] = {}
    taken: set[str] = set()
    for name in scripts:
        text = page_file(name)
        for names, module in re.findall(r'^import \{ (.+?) \} from "\./(.+?)";$', text, flags=re.MULTILINE):
            assert set(names.split(", ")) <= exported[module], f"{name} imports from {module}"
        assert len(re.findall(r"^import ", text, flags=re.MULTILINE)) == len(
            re.findall(r'^import \{.*";$', text, flags=re.MULTILINE)
        )
        found = re.findall(r"^(export )?(?:async )?(?:function|const|let|class) (\w+)", text, flags=re.MULTILINE)
        top_level = [identifier for _, identifier in found]
        assert len(set(top_level)) == len(top_level)
        assert not taken & set(top_level), f"{name} takes a name again"
        taken |= set(top_level)
        exported[name] = {identifier for export, identifier in found if export}


def test_every_asset_is_used() -> None:
    names = {file.name for file in resources.files("regard.explain").joinpath("page").iterdir()}
    assert names == {
        *SCRIPTS,
        *SENTENCE_SCRIPTS,
        *PICTURE_SCRIPTS,
        *CAPTION_SCRIPTS,
        *FAILURE_SCRIPTS,
        "report.html",
        "report.css",
    }

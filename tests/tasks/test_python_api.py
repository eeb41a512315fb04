"""The Python API as a newcomer meets it: wrong arguments are one line, objects show themselves, training says how far it is."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import regard
from regard.cli.progress import is_watched
from regard.errors import ConfigError, InputTypeError, SearchError
from regard.explain.interventions import edited
from regard.explain.what_if import Change

BUNDLES = Path(__file__).parent.parent / "format1"
SENTENCE = "le chat dort"


@pytest.fixture(scope="module")
def translator() -> Any:
    return regard.load(BUNDLES / "translate-transformer")


@pytest.fixture(scope="module")
def explanation(translator: Any) -> regard.Explanation:
    explained: regard.Explanation = translator.explain(SENTENCE, parts=["computation"])
    return explained


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"changes": 5}, "changes = 5: must be a list: write changes=[Change(mask='chat')]"),
        ({"changes": [5]}, "changes[0] = 5: must be a regard.explain.what_if.Change"),
        ({"changes": Change(mask="chat")}, "changes = Change("),
        ({"parts": 3}, "parts = 3: must be a list: write parts=['computation', 'mixing']"),
        ({"parts": "attribution"}, "parts = 'attribution': must be a list: write parts=['computation', 'mixing']"),
    ],
)
def test_an_explanation_of_wrong_arguments(translator: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputTypeError) as refused:
        translator.explain(SENTENCE, **options)
    assert str(refused.value).startswith(message)
    with pytest.raises(ConfigError, match="part 'attention' of an explanation: not one of computation"):
        translator.explain(SENTENCE, parts=["attention"])


def test_wrong_arguments_of_functions(translator: Any) -> None:
    none: Any = None
    for call, message in (
        (lambda: regard.load(none), "expected the path of a bundle or of a run, not None: give a str or a Path"),
        (lambda: regard.train(none), "config = None: must be the settings as nested dicts, a RunSettings, or the path"),
        (lambda: regard.train({}, out=none), "expected the path of the directory of the run, not None"),
        (lambda: regard.train({}, on_event=5), "on_event = 5: must be a function that takes an event"),  # type: ignore[arg-type]
        (lambda: edited(translator, none), "edits = None: must be a dict of name to function"),
        (lambda: edited(none, {}), "model = None: must be a Translator"),
    ):
        with pytest.raises(InputTypeError) as refused:
            call()
        assert str(refused.value).startswith(message)
        assert "\n" not in str(refused.value)


def test_a_writer_names_the_nearest_option_too() -> None:
    writer = regard.load(BUNDLES / "generate-markov")
    with pytest.raises(InputTypeError, match="temprature is no search option; did you mean temperature"):
        writer.generate(["a"], temprature=2)
    with pytest.raises(SearchError, match="beam = 'x': must be a whole number"):
        writer.generate(["a"], beam="x")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("translate-transformer", "<Translator: translate, transformer, "),
        ("generate-markov", "<Writer: generate, markov, "),
        ("classify-bag", "<Classifier: classify, bag, "),
        ("tag-recurrent", "<Tagger: classify, recurrent, "),
    ],
)
def test_a_model_shows_itself_in_a_line(name: str, beginning: str) -> None:
    from regard.bundle.describe import describe
    from regard.tasks.bundles import bundle_classes

    line = repr(regard.load(BUNDLES / name))
    count = describe(BUNDLES / name, bundle_classes())["parameters"]["total"]
    assert line.startswith(beginning)
    assert f", {count:,} " in line
    assert line.endswith(f"{name}>")
    assert "\n" not in line


def test_a_model_without_a_bundle_shows_its_network(translator: Any) -> None:
    assert repr(regard.Translator(translator.network, translator.tokenizers)) == "<Translator around Transformer>"


def test_an_explanation_is_short_and_saves_itself(explanation: regard.Explanation, tmp_path: Path) -> None:
    text = repr(explanation)
    assert len(text.splitlines()) <= 3
    assert SENTENCE in text
    assert "computation" in text
    assert "attribution" not in text
    explanation.save(tmp_path / "page.html")
    explanation.save(str(tmp_path / "data.json"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    [data] = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))["explanations"]
    assert data["source"]["text"] == SENTENCE
    with pytest.raises(ConfigError, match=r"page.txt: an explanation is written as .html, .json"):
        explanation.save(tmp_path / "page.txt")
    with pytest.raises(InputTypeError, match="expected the path of a file to write, not None"):
        explanation.save(None)  # type: ignore[arg-type]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def counted(tmp_path: Path) -> dict[str, Any]:
    """Settings of a run of a second."""
    (tmp_path / "text").write_text("show me my files\nshow me my photos\n" * 30, encoding="utf-8")
    return {
        "task": "generate",
        "data": {"text": str(tmp_path / "text"), "documents": "line"},
        "text": {"kind": "word"},
        "model": {"kind": "markov", "order": 1},
    }


@pytest.mark.parametrize(
    ("terminal", "options", "shows"),
    [
        (False, {}, False),
        (False, {"progress": True}, True),
        (True, {}, True),
        (True, {"progress": False}, False),
        (True, {"on_event": lambda event: None}, False),
    ],
)
def test_training_tells_its_progress_to_a_person(
    counted: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    options: dict[str, Any],
    shows: bool,
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    run = regard.train(counted, out=tmp_path / "run", **options)
    written = stream.getvalue()
    assert (f"its log is {tmp_path / 'run/log.jsonl'}" in written) == shows
    assert ("validation loss" in written) == shows
    assert bool(written) == shows
    assert len(repr(run)) < 3_000


def test_a_notebook_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not is_watched()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))
    assert is_watched()


def test_unknown_words_of_a_word_model_are_told(counted: dict[str, Any], tmp_path: Path) -> None:
    """Three letters are a mark and three bytes: four tokens of one word."""
    from regard.tasks.generate.evaluate import evaluate_writer, test_from_flags

    run = regard.train(counted, out=tmp_path / "run")
    assert run.metrics is not None
    assert "notes" not in run.metrics
    (tmp_path / "other").write_text("show me my cat\n", encoding="utf-8")
    writer = regard.load(tmp_path / "run")
    metrics = evaluate_writer(writer, test_from_flags(writer, {"text": str(tmp_path / "other")})).metrics
    assert metrics["evaluated_words"] == 4
    assert metrics["evaluated_tokens"] == 8  # an end mark
    [note] = metrics["notes"]
    assert note.startswith("1 of 4 words are unknown: they are spelled in 4 tokens")

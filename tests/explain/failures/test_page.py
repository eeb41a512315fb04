"""The files of a failure analysis: the page in a real browser, JSON, and the table of the terminal."""

import json
from pathlib import Path

import pytest

from explain.browser import BROWSER, dom_of, measured, texts
from explain.failures.fakes import SOUND, FakeTranslator, by_dictionary
from explain.failures.fakes import texts as probe_texts
from regard.errors import ConfigError, DataError, InputTypeError
from regard.explain.failures.analysis import analyse, subject_of
from regard.explain.failures.checks import CHECKS, chosen_checks
from regard.explain.failures.findings import FORMAT, Example, FailureAnalysis, Finding, Number, Table
from regard.explain.failures.page import render_analysis, write_analysis
from regard.explain.failures.subject import ProbeOptions

OPTIONS = ProbeOptions(most=30, beam=1)


def made(hostile: str) -> FailureAnalysis:
    """One finding of each status, with strange text wherever text of others may stand."""
    numbers = (
        Number("loops", "outputs with a loop", 12.5, "%", (8.0, 18.6), 200),
        Number("gap", "a gap", -3.25, "points", (-9.0, 2.5), 40),
        Number("none", "nothing to measure", None, "%", count=0),
    )
    table = Table(("word", "count", "share"), ((hostile, 3, 0.123456), ("b", None, 1234.5)), hostile)
    examples = (Example(hostile, "", hostile, "empty"), Example("a" * 300, "b" * 300))
    findings = (
        Finding("repetition", "Repetition loops", "fault", f"{hostile} repeats", numbers, (table,), examples),
        Finding("length", "Length", "look", "one is empty", numbers[1:], (), examples[:1]),
        Finding("copying", "Copied words", "sound", "nothing", numbers[:1]),
        Finding("dullness", "Dull texts", "left out", "it is about others"),
    )
    settings = {"most": 200, "beam": 5, "seed": 1}
    return FailureAnalysis(hostile, "translate", ("fr", None), "torch", hostile, 200, hostile, settings, findings)


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
def test_the_page_shows_every_finding(hostile: str, tmp_path: Path) -> None:
    dom = dom_of(render_analysis(made(hostile)), tmp_path)
    sections = [heading for heading in texts(dom, "h2") if heading]
    assert sections == [
        "Repetition loops fault",
        "Length worth a look",
        "Copied words sound",
    ]  # what is left out has no section
    assert any("it is about others" in cell for cell in texts(dom, "td"))
    assert {"12.5 %", "8 to 18.6, of 200", "-3.25 points", "0.12", "1,235"} <= set(texts(dom, "td"))
    assert "<b>gras" not in dom


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
def test_a_narrow_page_does_not_scroll_sideways(hostile: str, tmp_path: Path) -> None:
    script = "[document.documentElement.scrollWidth <= innerWidth, document.documentElement.dataset.error ?? null]"
    assert measured(render_analysis(made(hostile)), tmp_path, script, width=500) == [
        True,
        None,
    ]  # the narrowest window of a browser


def test_files(hostile: str, tmp_path: Path) -> None:
    analysis = made(hostile)
    analysis.save(tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (record["format"], record["findings"][0]["numbers"][2]["value"]) == (FORMAT, None)
    assert set(record["findings"][0]) == {"check", "title", "status", "verdict", "numbers", "tables", "examples"}
    page = render_analysis(analysis)
    page.encode("utf-8")
    assert page.count("</script>") == 3  # the text cannot end one
    with pytest.raises(ConfigError, match=r"written as \.html or \.json"):
        write_analysis(analysis, tmp_path / "a.pdf")


def test_the_table_has_a_line_for_each_check_and_an_example_of_each_fault() -> None:
    analysis = analyse(
        FakeTranslator(lambda source: source), probe_texts(), OPTIONS, name="copier", checks=["copying", "repetition"]
    )
    lines = analysis.to_text().splitlines()
    assert lines[0] == "copier: a translator from de to en, torch"
    assert lines[1] == "test set: made.de, 36 sentences"
    assert lines[4].split()[:4] == ["copying", "fault", "100", "%"]
    assert "e.g. Der kleine hund" in lines[5]
    assert lines[6].split()[:2] == ["repetition", "sound"]  # which needs no example
    assert lines[-1] == "1 fault, 0 worth a look, 1 sound"


def test_a_sound_translator_has_no_fault() -> None:
    analysis = analyse(SOUND, probe_texts(), OPTIONS, name="sound")
    assert {one.check: one.status for one in analysis.findings if one.status in ("look", "fault")} == {
        "gender": analysis.finding("gender").status,  # it does not know these words
        "sensitivity": analysis.finding("sensitivity").status,  # nor words with typos
    }
    assert [one.check for one in analysis.findings] == list(CHECKS)
    reasons = {one.check: one.verdict for one in analysis.findings if one.status == "left out"}
    assert set(reasons) == {"memorised", "numbers_names", "perturbed", "dullness"}
    assert analyse(SOUND, probe_texts(), OPTIONS, name="sound") == analysis


def test_names_of_checks() -> None:
    assert chosen_checks([]) == list(CHECKS)
    assert chosen_checks(["length", "gender"]) == ["gender", "length"]
    with pytest.raises(ConfigError, match="--checks genders: no such check; choose from gender, copying, repetition"):
        chosen_checks(["gender", "genders"])


def test_what_cannot_be_probed() -> None:
    with pytest.raises(DataError, match=r"empty\.de: no sentences to probe with"):
        subject_of(SOUND, probe_texts(sources=(), references=(), name="empty.de"), OPTIONS)
    with pytest.raises(DataError, match="2 sources for 1 references"):
        subject_of(SOUND, probe_texts(sources=("a", "b"), references=("a",)), OPTIONS)
    with pytest.raises(InputTypeError, match="cannot probe an object of type str"):
        subject_of("runs/demo", probe_texts(), OPTIONS)
    with pytest.raises(ConfigError, match=r"--checks memorised: the training text is needed, .* leave it out"):
        analyse(FakeTranslator(by_dictionary), probe_texts(), OPTIONS, name="x", checks=["memorised"])

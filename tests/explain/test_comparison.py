"""Comparisons of made-up runs: what is one row, what rows are called, what is refused, and the numbers of every format."""

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.made import PAIRS, finished_classifier, finished_run, finished_writer, result
from regard.errors import DataError
from regard.explain.comparison import Comparison, compare_runs, differing, is_finished, length_buckets, row_names
from regard.explain.figures import draw_comparison
from regard.explain.tables import comparison_to_json, notes, tables, to_latex, to_markdown
from regard.metrics.translation import bleu

RESAMPLES = 50


def settings(seed: int = 1, **model: Any) -> dict[str, Any]:
    return {"model": model, "train": {"seed": seed}}


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """Pre-norm with two seeds, post-norm with one; the former is right in all but a few sentences."""
    runs = [
        finished_run(tmp_path / "a", settings(1, norm="post"), wrong=range(5, 20), metrics={"decoding_seconds": None}),
        finished_run(tmp_path / "b", settings(1), wrong=[3]),
        finished_run(tmp_path / "c", settings(2), wrong=[20, 21], metrics={"decoding_seconds": 4.0}),
    ]
    return compare_runs([result(run) for run in runs], resamples=RESAMPLES)


def test_runs_that_differ_in_their_seed_are_one_row(comparison: Comparison) -> None:
    post, pre = comparison.rows
    assert (post.name, pre.name, comparison.baseline) == ("norm=post", "norm=pre", "norm=post")
    assert [run.directory.name for run in pre.runs] == ["b", "c"]
    assert pre.scores["exact_match"] == pytest.approx([25 / 26, 24 / 26])
    truth = [reference for _, reference in PAIRS]
    assert pre.scores["bleu"] == pytest.approx(
        [bleu(run.hypotheses, truth).value for run in pre.runs]
    )  # not metrics.json's
    assert pre.scores["chrf"] == [51.0, 52.0]  # metrics.json's
    assert pre.measured("sentences_per_second") == [13.0, 6.5]
    assert post.measured("sentences_per_second") == []


def test_every_row_is_tested_against_the_baseline(comparison: Comparison) -> None:
    post, pre = comparison.rows
    assert post.against is None
    assert pre.against is not None
    mean = statistics.fmean(value for value in pre.scores["bleu"] if value is not None)
    assert pre.against.difference == pytest.approx(mean - (post.scores["bleu"][0] or 0.0))
    assert pre.against.p_value == 1 / (RESAMPLES + 1)
    turned = compare_runs([*post.runs, *pre.runs], baseline=pre.runs[1], metric="exact_match", resamples=RESAMPLES)
    assert turned.baseline == "norm=pre"
    assert turned.rows[1].against is None
    assert turned.rows[0].against is not None
    assert turned.rows[0].against.difference == pytest.approx(11 / 26 - 24.5 / 26)


def test_a_score_by_length_is_that_of_the_part(comparison: Comparison) -> None:
    assert comparison.buckets[0][0] == 1
    assert comparison.buckets[-1][1] == 13
    for (low, high), values in zip(comparison.buckets, comparison.rows[0].by_length, strict=True):
        run = comparison.rows[0].runs[0]
        part = [n for n, source in enumerate(run.sources) if low <= len(source.split()) <= high]
        expected = bleu([run.hypotheses[n] for n in part], [run.references[n] for n in part]).value
        assert values == pytest.approx([expected])


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 6))
def test_buckets_hold_every_length_once(lengths: list[int], most: int) -> None:
    buckets = length_buckets(lengths, most)
    assert 1 <= len(buckets) <= most
    for length in lengths:
        assert sum(low <= length <= high for low, high in buckets) == 1
    for low, high in buckets:
        assert any(low <= length <= high for length in lengths)


def test_buckets_by_hand() -> None:
    assert length_buckets([3, 1, 2, 4, 5, 6], 3) == [(1, 2), (3, 4), (5, 6)]
    assert length_buckets([7, 7, 7], 3) == [(7, 7)]
    assert length_buckets([1, 1, 1, 1, 9], 2) == [(1, 1), (2, 9)]


def test_rows_are_named_by_what_differs() -> None:
    rows = [
        {"model.width": 64, "text.dropout": 0.1, "model.dropout": 0.1, "train.seed": 1, "train.max_steps": None},
        {"model.width": 64, "text.dropout": 0.0, "model.dropout": 0.2, "train.seed": 2, "train.max_steps": 10},
    ]
    assert row_names(differing(rows)) == [
        "text.dropout=0.1 model.dropout=0.1 max_steps=none",
        "text.dropout=0.0 model.dropout=0.2 max_steps=10",
    ]


def test_what_one_kind_of_model_has_not_is_told_only_where_it_is_needed() -> None:
    kinds = [{"model.kind": "transformer", "model.heads": 4}, {"model.kind": "lstm", "model.score": "dot"}]
    assert differing(kinds) == [{"model.kind": "transformer"}, {"model.kind": "lstm"}]
    assert differing([{"model.heads": 4}, {}]) == [{"model.heads": 4}, {}]
    assert row_names([{"model.heads": 4}, {}]) == ["heads=4", "default"]


def test_another_test_set_and_other_languages_are_refused(tmp_path: Path) -> None:
    one = result(finished_run(tmp_path / "one"))
    changed = [*PAIRS[:4], ("x", "y"), *PAIRS[5:]]
    for name, pairs, detail in (("fewer", PAIRS[:9], "9 sentences, not 26"), ("other", changed, "sentence 5 differs")):
        other = result(finished_run(tmp_path / name, pairs=pairs))
        with pytest.raises(DataError, match=rf"{name}: judged by another test set than .*one \({detail}\)"):
            compare_runs([one, other])
    german = result(finished_run(tmp_path / "german", metrics={"languages": {"source": "de"}}))
    with pytest.raises(DataError, match=r"german: its source language is de, but that of .*one is fr"):
        compare_runs([one, german])
    unknown = result(finished_run(tmp_path / "unknown", settings(2), metrics={"languages": {"source": None}}))
    assert len(compare_runs([one, unknown]).rows) == 1


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    (run / "translations.jsonl").write_text('{"source": "a"', encoding="utf-8")
    with pytest.raises(DataError, match=r"translations\.jsonl:1: damaged: not valid JSON"):
        result(run)
    (run / "translations.jsonl").write_text('{"source": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"translations\.jsonl:1: reference: field required"):
        result(run)
    (run / "translations.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="no sentences in it"):
        result(run)
    (run / "translations.jsonl").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"translations\.jsonl: cannot be read as UTF-8 text"):
        result(run)
    (run / "metrics.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"metrics\.json: expected an object, found a list"):
        result(run)
    (run / "metrics.json").unlink()
    assert not is_finished(run)


def test_markdown(comparison: Comparison) -> None:
    text = to_markdown(comparison, by_length=True)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]  # no heading: names
    assert rows[0] == ["runs", "BLEU", "chrF", "TER", "exact %", "perplexity", "difference", "p"]
    assert rows[3][:2] == ["norm=pre", "2"]
    assert rows[3][3] == "51.50 ± 0.71"
    assert rows[3][5] == "94.2 ± 2.7"
    assert rows[2][-2:] == ["baseline", "-"]
    assert re.fullmatch(r"\+\d+\.\d\d", rows[3][-2])
    assert rows[3][-1] == "0.020"
    assert rows[6] == ["norm=post", "1,000,000", "300", "20,000", "1:15", "-"]
    assert rows[7] == ["norm=pre", "1,000,000", "300", "20,000", "1:15", "9.8"]
    assert rows[8] == ["BLEU by source words", "1-3", "4-6", "7-8", "9-11", "12-13"]
    assert "- BLEU: nrefs:1\\|case:mixed" in text
    assert any("resamples of the sentences and of the runs" in note for note in notes(comparison))


def test_the_engines_that_were_timed_are_told_where_they_differ(tmp_path: Path) -> None:
    runs = [
        finished_run(tmp_path / "post", settings(1, norm="post"), metrics={"engine": "torch"}),
        finished_run(tmp_path / "pre", settings(1), metrics={"engine": "ct2"}),
        finished_run(tmp_path / "old", settings(1, width=64)),
    ]
    results = [result(run) for run in runs]
    told = "decoded sentences/s compares engines too. torch: norm=post; CTranslate2: norm=pre"
    assert told in notes(compare_runs(results[:2], resamples=RESAMPLES))
    assert any("engine not recorded: " in note for note in notes(compare_runs(results[1:], resamples=RESAMPLES)))
    assert not any("engine" in note for note in notes(compare_runs(results[:1], resamples=RESAMPLES)))


def test_latex_escapes_what_it_must(tmp_path: Path) -> None:
    paths = ["a_1%.fr", "b&c#{d}.fr", "e\\f~g^h$.fr"]
    data = [{"data": {"src": path, "tgt": "t.en"}} for path in paths]
    runs = [result(finished_run(tmp_path / str(n), one, wrong=range(n))) for n, one in enumerate(data)]
    text = to_latex(compare_runs(runs, resamples=RESAMPLES))
    for name in (
        r"src=a\_1\%.fr &",
        r"src=b\&c\#\{d\}.fr &",
        r"src=e\textbackslash{}f\textasciitilde{}g\textasciicircum{}h\$.fr &",
        r"exact \% &",
    ):
        assert name in text
    tabulars = re.findall(r"\\begin\{tabular\}\{(lr*)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL)
    assert len(tabulars) == 2
    for columns, body in tabulars:
        lines = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(lines) == 4
        for line in lines:
            assert len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1
    assert re.search(r"& \$-\d+\.\d\d\$ &", text)


def test_json_holds_every_number(comparison: Comparison) -> None:
    values = json.loads(comparison_to_json(comparison, by_length=True))
    assert (values["metric"], values["baseline"], values["sentences"]) == ("bleu", "norm=post", 26)
    post, pre = values["rows"]
    assert post["against_baseline"] is None
    assert post["sentences_per_second"] is None
    assert pre["settings"] == {"model.norm": "pre"}
    assert pre["scores"]["exact_match"]["values"] == pytest.approx([25 / 26, 24 / 26])
    assert pre["scores"]["exact_match"]["deviation"] == pytest.approx(statistics.stdev([25 / 26, 24 / 26]))
    assert pre["scores"]["aer"] == {"mean": None, "deviation": None, "values": [None, None]}
    assert pre["against_baseline"]["p_value"] == 1 / (RESAMPLES + 1)
    assert [(one["from"], one["to"]) for one in pre["by_length"]] == list(comparison.buckets)
    assert "by_length" not in json.loads(comparison_to_json(comparison))["rows"][0]


def test_one_row_is_not_tested(tmp_path: Path) -> None:
    alone = compare_runs([result(finished_run(tmp_path / "alone", metrics={"aer": 0.25, "seconds": 7260.0}))])
    quality, cost = tables(alone)
    assert alone.rows[0].name == "alone"
    assert quality.headings == ["", "runs", "BLEU", "chrF", "TER", "exact %", "perplexity", "AER"]
    assert quality.cells == [["alone", "1", "100.00", "50.00", "40.00", "100.0", "2.50", "0.250"]]
    assert cost.cells[0][4] == "2:01:00"
    assert not any("bootstrap" in note for note in notes(alone))


def test_the_figure_draws_every_row_and_length(comparison: Comparison, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one", "two"):
        draw_comparison(comparison, tmp_path / f"{name}.svg")
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
    words = re.findall(r"<!-- (.+?) -->", text)
    for word in ("norm=post", "norm=pre", "BLEU", "words in the source sentence", "1-3", "12-13"):
        assert word in words


def test_classifiers_are_compared_by_their_labels(tmp_path: Path) -> None:
    runs = [
        finished_classifier(tmp_path / "bag", {"model": {"kind": "bag"}}, wrong=range(9)),
        finished_classifier(tmp_path / "lstm", {"model": {"kind": "recurrent"}}, wrong=[0]),
    ]
    comparison = compare_runs([result(run) for run in runs], resamples=RESAMPLES)
    assert [row.scores["accuracy"] for row in comparison.rows] == [[11 / 20], [19 / 20]]
    assert comparison.rows[1].against is not None
    assert comparison.rows[1].against.difference == pytest.approx(8 / 20)
    by_f1 = compare_runs([result(run) for run in runs], metric="f1", resamples=RESAMPLES)
    assert by_f1.rows[1].scores["f1"] == [pytest.approx((18 / 19 + 20 / 21) / 2)]  # not metrics.json's
    text = to_markdown(comparison, by_length=True)
    assert "|  | runs | accuracy % | F1 | difference | p |" in text
    assert "| kind=recurrent dropout=0.2 | 1 | 95.0 | 0.500 | +40.0 | 0.020 |" in text
    assert "- 20 texts of the test set" in text
    assert "| training labels |" in text
    assert "no table by length" not in text
    assert comparison.rows[0].measured("sentences_per_second") == [10.0]
    with pytest.raises(DataError, match="runs that classify are not tested by it; choose accuracy or f1"):
        compare_runs([result(run) for run in runs], metric="bleu")


def test_taggers_are_compared_word_by_word(tmp_path: Path) -> None:
    token = {"data": {"labels_of": "token"}, "model": {"kind": "recurrent"}}
    tagger = result(finished_classifier(tmp_path / "tagger", token, wrong=range(5)))
    assert compare_runs([tagger]).rows[0].scores["accuracy"] == [35 / 40]
    with pytest.raises(DataError, match=r"texts: judged by another test set .*data\.test_labelled"):
        compare_runs([tagger, result(finished_classifier(tmp_path / "texts"))])


def test_language_models_are_compared_by_perplexity(tmp_path: Path) -> None:
    one = result(finished_writer(tmp_path / "one", {"model": {"layers": 2}}))
    two = result(
        finished_writer(tmp_path / "two", {"text": {"kind": "char"}}, perplexity_word=80.0, evaluated_tokens=999)
    )
    comparison = compare_runs([one, two])
    assert [row.against for row in comparison.rows] == [None, None]
    text = to_markdown(comparison, by_length=True)
    assert "|  | runs | perplexity per word | bits per byte | perplexity |\n" in text
    assert " | 1 | 80.00 | 1.500 | 5.00 |\n" in text
    assert "- 1,200 words of the validation set" in text
    assert "paired bootstrap" not in text
    assert "by source words" not in text
    assert "- no table by length: these runs are not judged sentence by sentence\n" in text
    other = result(finished_writer(tmp_path / "other", evaluated_bytes=6001))
    with pytest.raises(DataError, match=r"other: judged by another text than .*one \(evaluated_bytes 6001, not 6000\)"):
        compare_runs([one, other])
    with pytest.raises(DataError, match="runs that generate are not tested by it; leave it out"):
        compare_runs([one, two], metric="bleu")


def test_runs_of_two_tasks_are_refused(tmp_path: Path) -> None:
    one, other = result(finished_classifier(tmp_path / "labels")), result(finished_run(tmp_path / "pairs"))
    with pytest.raises(DataError, match=r"pairs: its task is to translate, but that of .*labels is to classify"):
        compare_runs([one, other])


def test_p_of_one_run_each_is_flagged(comparison: Comparison, tmp_path: Path) -> None:
    runs = [
        finished_run(tmp_path / name, settings(1, norm=name), wrong=[number])
        for number, name in enumerate(("pre", "post"))
    ]
    single = notes(compare_runs([result(run) for run in runs], resamples=RESAMPLES))
    assert any(note.startswith("one run each: p is about the sentences, not about the seeds") for note in single)
    mixed = [note for note in notes(comparison) if "not about the seeds" in note]
    assert [note.partition(": p is")[0] for note in mixed] == ["one run: norm=post"]


def test_other_positions_beside_other_scores_are_told(tmp_path: Path) -> None:
    def told(**model: str) -> list[str]:
        changes = [{"model": {"score": score, **model}} for score in ("scaled_dot", "additive")]
        runs = [finished_run(tmp_path / f"{number}{len(model)}", change) for number, change in enumerate(changes)]
        return [note for note in notes(compare_runs([result(run) for run in runs])) if "model.positions" in note]

    assert [note.partition(",")[0] for note in told()] == ["model.positions differs too (rotary"]
    assert told(positions="sinusoidal") == []


def test_a_huge_name_of_a_row_is_cut_in_tables(tmp_path: Path) -> None:
    runs = [finished_run(tmp_path / name, {"data": {"src": f"{name * 300}.fr", "tgt": "b.en"}}) for name in "xy"]
    comparison = compare_runs([result(run) for run in runs], resamples=RESAMPLES)
    assert all(len(cells[0]) <= 120 for table in tables(comparison) for cells in table.cells)
    assert "x" * 300 in comparison_to_json(comparison)


def test_one_direction_of_a_model_of_several_is_compared_with_a_model_of_one(tmp_path: Path) -> None:
    """The rows of both have the same text; those of the first name its direction."""
    directed = finished_run(tmp_path / "directed", settings(1, norm="post"), wrong=[1, 2])
    plain = finished_run(tmp_path / "plain", settings(1), wrong=[3])
    expected = compare_runs([result(directed), result(plain)], resamples=RESAMPLES)
    path = directed / "translations.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def name_directions(*names: str) -> None:
        named = [{**row, "direction": names[n % len(names)]} for n, row in enumerate(rows)]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in named), encoding="utf-8")

    name_directions("fr-en")
    found = compare_runs([result(directed), result(plain)], resamples=RESAMPLES)
    assert comparison_to_json(found) == comparison_to_json(expected)
    name_directions("fr-en", "en-fr")
    with pytest.raises(DataError, match=r"judged in one direction, but .* in fr-en, en-fr; compare runs of the same"):
        compare_runs([result(directed), result(plain)], resamples=RESAMPLES)

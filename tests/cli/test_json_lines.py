"""`regard translate --json`: one object a line, with what the API knows of the translation."""

import json
import os
from pathlib import Path

import pytest

import regard
from cli.test_bad_input import complaint
from cli.test_streaming import stopped_half_way

LINES = ["je suis étudiant", "", "il m'a entarté"]


def test_an_object_a_line_with_what_the_api_returns(command, small_run) -> None:
    result = command("translate", small_run, "--beam", "2", "--json", stdin="\n".join(LINES) + "\n")
    assert (result.code, result.err) == (0, "")
    records = [json.loads(line) for line in result.out.splitlines()]
    expected = regard.load(small_run).translate(LINES, beam=2)
    for record, translation in zip(records, expected, strict=True):
        assert list(record) == ["source", "translation", "score", "logprob", "finished", "tokens", "alignment"]
        assert record["source"] == translation.source
        assert record["translation"] == translation.text
        assert record["tokens"] == translation.tokens
        assert record["finished"] == translation.finished
        assert record["alignment"] == [list(link) for link in translation.alignment]
        assert record["logprob"] == pytest.approx(translation.logprob, abs=1e-4)
        assert record["score"] == pytest.approx(translation.score, abs=1e-4)
    assert records[0]["alignment"]
    assert (records[1]["source"], records[1]["translation"], records[1]["tokens"]) == ("", "", [])


def test_the_n_best_are_a_list_best_first(command, small_run) -> None:
    options = ["--beam", "4", "--nbest", "3", "--json"]
    [record] = map(json.loads, command("translate", small_run, *options, stdin=LINES[0]).out.splitlines())
    [best] = regard.load(small_run).translate(LINES[:1], beam=4, nbest=3)
    assert [one["translation"] for one in record["nbest"]] == [one.text for one in best.alternatives]
    assert [one["alignment"] for one in record["nbest"]] == [[*map(list, one.alignment)] for one in best.alternatives]
    assert {name: record[name] for name in record["nbest"][0]} == record["nbest"][0]
    assert all("source" not in one for one in record["nbest"])


def test_what_a_search_adds(command, small_run) -> None:
    proved = json.loads(command("translate", small_run, "--exact", "--max-length", "2", "--json", stdin="je\n").out)
    assert proved["proof"].keys() == {"nodes", "proved"}
    drawn = json.loads(command("translate", small_run, "--mbr", "4", "--json", "--max-length", "4", stdin="je\n").out)
    assert 0.0 <= drawn["utility"] <= 100.0
    asked = command(
        "translate", small_run, "--with-phrases", "--max-length", "3", "--json", stdin=f"je\t{'ab ' * 40}\n"
    )
    assert json.loads(asked.out)["unmet"]
    cut = json.loads(command("translate", small_run, "--beam", "1", "--json", stdin="chat " * 2000).out)
    assert cut["truncated"] is True


def test_a_model_without_attention_has_no_alignment(command, tmp_path: Path) -> None:
    values = [
        "data.pocket=60",
        "text.vocabulary=400",
        "model.kind=recurrent",
        "model.attention=false",
        "model.width=16",
    ]
    values += ["train.max_steps=2", "train.batch_tokens=256"]
    sets = [part for value in values for part in ("--set", value)]
    assert command("train", "--out", tmp_path / "run", *sets).code == 0
    result = command("translate", tmp_path / "run", "--json", "--beam", "1", stdin="je\n")
    assert (result.code, json.loads(result.out)["alignment"]) == (0, None)


def test_bad_lines_and_going_on(command, small_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is not UTF-8 is an empty line, as in text; an interrupted file ends as an uninterrupted one."""
    lines = [f"je suis le numéro {number}" for number in range(600)]
    (tmp_path / "in").write_bytes(b"je\n\xff\xfe\n" + "".join(f"{line}\n" for line in lines).encode())
    options = ["--beam", "1", "--max-length", "4", "--json"]
    whole = command("translate", small_run, "-i", tmp_path / "in", *options)
    assert f"{tmp_path / 'in'}:2: not UTF-8" in complaint(whole)
    assert whole.out.split("\n")[1] == ""
    assert [json.loads(line)["source"] for line in whole.out.splitlines() if line] == ["je", *lines]
    arguments = [small_run, "-i", tmp_path / "in", "-o", tmp_path / "out", *options]
    stopped_half_way(command, monkeypatch, *arguments)
    assert "json True -> None" in complaint(command("translate", *[part for part in arguments if part != "--json"]))
    assert "here 1" in complaint(command("translate", *arguments))
    assert (tmp_path / "out").read_text(encoding="utf-8") == whole.out


def test_verbs_run_where_the_system_does_not_tell_its_cores(
    command, small_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{line}\t{number % 2}\n" for number, line in enumerate(LINES * 10)), encoding="utf-8")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert command("translate", small_run, "--beam", "1", stdin="je\n").code == 0
    changes = ("--set", "model.kind=bag", "--set", "text.kind=char", "--set", "train.max_epochs=1")
    assert command("train", "--task", "classify", "--data", data, "--out", tmp_path / "run", *changes).code == 0
    assert command("classify", tmp_path / "run", stdin="je\n").out.count("\n") == 1

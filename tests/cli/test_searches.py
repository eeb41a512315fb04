"""The flags of every search: what goes to stdout is what the API returns, and what is wrong is one line."""

import json
import re
import shlex
from pathlib import Path

import pytest

import regard

LINES = ["je suis étudiant", "", "il m'a entarté"]
INPUT = "\n".join(LINES) + "\n"
PAGE = (Path(__file__).parent.parent.parent / "docs" / "decoding.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--length-form", "wu", "--stop", "safe"], {"length_form": "wu", "stop": "safe"}),
        (["--coverage", "0.5", "--stop", "first"], {"coverage": 0.5, "stop": "first"}),
        (["--groups", "2", "--diversity", "1.5", "--beam", "4"], {"groups": 2, "diversity": 1.5, "beam": 4}),
        (["--mbr", "5", "--temperature", "2", "--seed", "3"], {"mbr": 5, "temperature": 2.0, "seed": 3}),
        (["--min-length", "4", "--no-repeat", "2"], {"min_length": 4, "no_repeat": 2}),
        (["--suppress", "▁the", "--suppress", "<unk>"], {"suppress": ["▁the", "<unk>"]}),
        (["--stop-after", "2", "--beam", "3"], {"stop_after": 2, "beam": 3}),
    ],
)
def test_flags_are_the_options_of_the_api(command, small_run: Path, flags: list[str], options: dict) -> None:
    result = command("translate", small_run, "--max-length", "8", *flags, stdin=INPUT)
    expected = [one.text for one in regard.load(small_run).translate(LINES, max_length=8, **options)]
    assert (result.code, result.err) == (0, "")
    assert result.out == "".join(f"{text}\n" for text in expected)


def test_exact_search_reports_on_standard_error(command, small_run: Path) -> None:
    result = command("translate", small_run, "--exact", "--node-limit", "40", "--max-length", "6", stdin=INPUT)
    found = regard.load(small_run).translate(LINES, exact=True, node_limit=40, max_length=6)
    assert result.out == "".join(f"{one.text}\n" for one in found)
    first, last = result.err.splitlines()  # the empty line needs no search
    assert first.startswith("regard: line 1: ")
    assert last.startswith("regard: line 3: ")
    assert first.endswith(f", {found[0].proof.nodes} nodes")
    assert ("not proved" in first) == (not found[0].proof.proved)


def test_exhaustive_search(command, small_run: Path) -> None:
    result = command("translate", small_run, "--exhaustive", "--max-length", "1", "--nbest", "2", stdin="je dors\n")
    [found] = regard.load(small_run).translate(["je dors"], exhaustive=True, max_length=1, nbest=2)
    assert [line.split(" ||| ")[1] for line in result.out.splitlines()] == [one.text for one in found.alternatives]
    assert (result.code, result.err) == (0, "")


def test_prefixes_and_phrases_stand_after_tabs(command, small_run: Path) -> None:
    lines = "je dors\tI am\ta student\tred\n\nil dort\n"
    result = command("translate", small_run, "--with-prefix", "--with-phrases", "--beam", "8", stdin=lines)
    first, second, third, _ = result.out.split("\n")
    assert first.startswith("I am")
    assert "a student" in first
    assert "red" in first
    assert second == ""
    assert third == regard.load(small_run).translate(["il dort"], beam=8)[0].text
    assert result.err == ""
    only = command("translate", small_run, "--with-phrases", stdin="je dors\tmy cat 日本\n")
    assert "my cat 日本" in only.out


def test_what_cannot_be_met_is_a_warning_and_the_other_lines_come_out(command, small_run: Path) -> None:
    lines = f"je dors\t{'student ' * 50}\nil dort\n"
    result = command("translate", small_run, "--with-phrases", "--max-length", "6", stdin=lines)
    plain = command("translate", small_run, "--max-length", "6", stdin="je dors\nil dort\n")
    assert (result.code, result.out) == (0, plain.out)
    [warning] = result.err.splitlines()
    assert warning.startswith("regard: warning: line 1: its translation does not have 'student student")


def test_an_ensemble_with_itself_is_itself(command, small_run: Path) -> None:
    alone = command("translate", small_run, "--nbest", "2", stdin=INPUT).out
    both = command("translate", small_run, "--ensemble", small_run, "--nbest", "2", stdin=INPUT).out
    assert [line.split(" ||| ")[:2] for line in both.splitlines()] == [
        line.split(" ||| ")[:2] for line in alone.splitlines()
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--stop", "never"], "stop = 'never'"),
        (["--length-form", "log"], "length_form = 'log'"),
        (["--coverage", "-1"], "coverage"),
        (["--groups", "2"], "groups = 2: a beam of 5"),
        (["--diversity", "2"], "--groups"),
        (["--node-limit", "7"], "--exact"),
        (["--exact", "--sample"], "sample and exact"),
        (["--mbr", "-1"], "mbr = -1"),
        (["--min-length", "9", "--max-length", "3"], "min_length = 9"),
        (["--no-repeat", "-2"], "no_repeat = -2"),
        (["--suppress", "▁zzzzz"], "▁zzzzz"),
        (["--ensemble", "/nowhere"], "/nowhere"),
        (["--stop-after", "0"], "stop_after = 0"),
        (["--stop-after", "2", "--sample"], "stop_after = 2"),
        (["--exhaustive"], "give a small max_length; 1 if the vocabulary has thousands of pieces"),
        (["--exact", "--nbest", "9"], "nbest = 9: exact search has one answer; leave it out"),
        (["--suppress", "zzzzz"], "where a word may be several pieces"),
        (["--exhaustive", "--max-length", "9"], "use beam search"),
        (["--exact", "--with-phrases"], "phrases are for beam search"),
    ],
)
def test_bad_values_are_one_line(command, small_run: Path, flags: list[str], expected: str) -> None:
    result = command("translate", small_run, *flags, stdin="je dors\tun\n")
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    assert line.startswith("regard: ")
    assert expected in line


@pytest.mark.parametrize(
    ("given", "flags"), re.findall(r"^\w+ (.*) \| regard translate runs/demo(.*)$", PAGE, re.MULTILINE)
)
def test_the_examples_of_the_page(command, small_run: Path, given: str, flags: str) -> None:
    [text] = shlex.split(given)
    less = ["--max-length", "8", *(["--node-limit", "30"] if "--exact" in flags else [])]
    result = command(
        "translate", small_run, *shlex.split(flags), *less, stdin=text.replace("\\t", "\t").replace("\\n", "\n")
    )
    assert result.code == 0
    assert len(result.out.splitlines()) == (3 if "--nbest" in flags else 1)
    assert "warning" not in result.err


def test_a_piece_inside_of_words_is_not_the_word(command, small_run: Path) -> None:
    pieces = set(regard.load(small_run).tokenizers.target.vocabulary.pieces)
    both = min(piece for piece in pieces if f"▁{piece}" in pieces)
    word = min(piece for piece in pieces if piece[:1] == "▁" and piece[1:] and piece[1:] not in pieces)
    inside = command("translate", small_run, "--suppress", both, stdin="je dors\n")
    assert inside.code == 0
    assert (
        f"note: --suppress {both}: suppressed inside of words only; as a word of its own it is '▁{both}'" in inside.err
    )
    assert "note" not in command("translate", small_run, "--suppress", f"▁{both}", stdin="je dors\n").err
    unknown = command("translate", small_run, "--suppress", word[1:], stdin="je dors\n")
    assert unknown.code == 2
    assert f"as a word of its own it is {word!r}" in unknown.err


def test_a_folder_for_results_is_made(command, small_run: Path, tmp_path: Path) -> None:
    result = command("translate", small_run, "-o", tmp_path / "new/folder/out", stdin="je dors\n")
    assert result.code == 0, result.err
    assert (tmp_path / "new/folder/out").read_text(encoding="utf-8").count("\n") == 1
    (tmp_path / "file").touch()
    refused = command("translate", small_run, "-o", tmp_path / "file/out", stdin="je dors\n")
    assert refused.code == 2
    assert refused.err.startswith(f"regard: {tmp_path / 'file/out'}: ")  # the name that was given


def test_a_second_model_chooses(command, small_run: Path, tmp_path: Path) -> None:
    """A counted language model of English lines, as `regard translate --rerank` takes it."""
    text = tmp_path / "lines.en"
    text.write_text("i am a student\nhe sleeps\nthe apple is red\n" * 20, encoding="utf-8")
    counted = ("--task", "generate", "--text", text, "--set", "model.kind=markov", "--set", "text.vocabulary=300")
    assert command("train", *counted, "--set", "data.documents=line", "--out", tmp_path / "lm").code == 0
    options = ("--max-length", "8", "--beam", "6")
    chosen = ("--rerank", tmp_path / "lm", "--rerank-weight", "0.3", "--rerank-among", "6")
    found = command("translate", small_run, *options, *chosen, "--json", stdin=INPUT)
    assert (found.code, found.err) == (0, "")
    own = {name: regard.load(path) for name, path in (("run", small_run), ("lm", tmp_path / "lm"))}
    for line, text_line in zip(map(json.loads, found.out.splitlines()), LINES, strict=True):
        if not text_line:
            assert line["translation"] == ""
            continue
        best = []
        [plain] = own["run"].translate([text_line], beam=6, nbest=6, max_length=8)
        for one in plain.alternatives:
            [second] = own["lm"].score([one.text])
            best.append((one.logprob - 0.3 * second.logprob) / max(1, len(one.tokens)))
        assert line["score"] == pytest.approx(max(best), abs=1e-3)
        assert "second_logprob" in line
    usual = command("translate", small_run, "--rerank", tmp_path / "lm", "--max-length", "8", stdin=INPUT)
    assert (usual.code, usual.err) == (0, ""), "the usual beam gives as many hypotheses as are compared"
    for given, message in (
        (("--rerank-weight", "2"), "--rerank-weight and --rerank-among have no effect without --rerank DIR"),
        (("--rerank", tmp_path / "nothing"), "nothing"),
        (("--rerank", tmp_path / "lm", "--beam", "3"), "beam = 3: a beam gives as many hypotheses"),
        (("--rerank", tmp_path / "lm", "--exact"), "exact chooses by itself"),
    ):
        result = command("translate", small_run, *given, stdin=INPUT)
        assert (result.code, message in result.err, result.err.count("\n")) == (2, True, 1), result.err

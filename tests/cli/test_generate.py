"""`regard train --task generate`, `generate`, `score` and `evaluate` of language models, as a user runs them; and what users get wrong."""

import json
import math
from pathlib import Path

import pytest

from cli.conftest import Command

LINES = [f"show me my {what} please" for what in ["directories"] * 2 + ["files"] * 3 + ["photos"] * 5]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Path:
    """A directory with a text and a counted and a trained model of it."""
    home = tmp_path_factory.mktemp("generate")
    (home / "text").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    common = ["--task", "generate", "--text", home / "text", "--valid-text", home / "text"]
    counted = ["--set", "model.kind=markov", "--set", "model.order=1", "--set", "model.smoothing=none"]
    result = command(
        *("train", *common, "--out", home / "counted", *counted),
        *("--set", "text.kind=word", "--set", "data.documents=line"),
    )
    assert result.code == 0, result.err
    assert "perplexity" in result.err
    trained = ["layers=1", "width=16", "heads=2", "feed_forward=16"]
    result = command(
        *("train", *common, "--out", home / "trained", "--set", "text.kind=char", "--set", "data.max_length=16"),
        *(word for setting in trained for word in ("--set", f"model.{setting}")),
        *("--set", "train.max_steps=3", "--set", "train.samples=1"),
    )
    assert result.code == 0, result.err
    assert (home / "trained/report.html").exists()
    return home


def test_a_prompt_is_gone_on_with(home: Path, command: Command) -> None:
    assert command("generate", home / "counted", "show me", "--beam", "1").out == "show me my photos please\n"
    beam = command("generate", home / "counted", "show", "--beam", "3", "-n", "3").out
    assert beam == "".join(
        f"{'---' + chr(10) if n else ''}show me my {what} please\n"
        for n, what in enumerate(("photos", "files", "directories"))
    )
    assert (
        command("generate", home / "counted", "-", "--beam", "1", stdin="show me").out == "show me my photos please\n"
    )


def test_samples_have_seeds(home: Path, command: Command) -> None:
    several = command("generate", home / "counted", "-n", "6", "--seed", "3").out.split("---\n")
    assert len(several) == 6
    assert {text.strip() for text in several} <= set(LINES)
    assert len(set(several)) > 1
    assert command("generate", home / "counted", "--seed", "4").out == several[1]
    records = command("generate", home / "counted", "-n", "6", "--seed", "3", "--json").out.splitlines()
    assert [json.loads(record)["text"] + "\n" for record in records] == several


def test_every_sampling_option(home: Path, command: Command) -> None:
    flags = ["--temperature", "0.7", "--top-k", "8", "--top-p", "0.9", "--no-repeat", "3", "--min-length", "5"]
    result = command("generate", home / "trained", "show", *flags, "--max-length", "30", "--suppress", "e")
    assert result.code == 0, result.err
    assert result.out.startswith("show")
    assert "e" not in result.out
    for search in (
        ["--mbr", "4"],
        ["--mbr", "4", "--beam", "1"],
        ["--beam", "4", "--groups", "2", "-n", "2"],
        ["--exact", "--node-limit", "20"],
        ["--beam", "3", "--stop-after", "2"],
    ):
        result = command("generate", home / "trained", "show", *search, "--max-length", "5")
        assert result.code == 0, result.err
        assert result.out.count("show") == 1 + search.count("-n")
        assert ("the most probable, 20 nodes" in result.err) == ("--exact" in search)
    proved = command("generate", home / "counted", "show me my", "--exact", "--json")
    assert json.loads(proved.out)["proof"]["proved"]
    assert "most probable of all" in proved.err


def test_exhaustive_search_is_the_best_of_all_texts(home: Path, command: Command) -> None:
    flags = ["--exhaustive", "--max-length", "2", "-n", "3", "--alpha", "0"]
    assert command("generate", home / "counted", "show me my", *flags).out == "".join(
        f"{'---' + chr(10) if n else ''}show me my {what} please\n"
        for n, what in enumerate(("photos", "files", "directories"))
    )
    refused = command("generate", home / "counted", "show me", "--exhaustive")
    assert (refused.code, refused.out) == (2, "")
    assert "max_length = 200" in refused.err


def test_scores_and_perplexity(home: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "some").write_text("show me my files please\nshow me my photos please\n", encoding="utf-8")
    scores = command("score", home / "counted", "--text", tmp_path / "some").out.split()
    assert [float(score) for score in scores] == pytest.approx([math.log(0.3), math.log(0.5)], abs=1e-4)
    values = json.loads(command("evaluate", home / "counted", "--text", tmp_path / "some", "--json").out)
    total = -math.log(0.3) - math.log(0.5)
    assert values["perplexity"] == pytest.approx(math.exp(total / 12), rel=1e-5)
    assert values["perplexity_word"] == pytest.approx(math.exp(total / 10), rel=1e-5)
    assert values["bits_per_byte"] == pytest.approx(total / math.log(2) / 49, rel=1e-5)
    assert "perplexity_word" in command("evaluate", home / "trained", "--text", tmp_path / "some").out
    assert "generate" in command("info", home / "counted").out


def test_a_text_without_probability_is_null_in_json(home: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "never").write_text("please show me\n", encoding="utf-8")
    printed = command("score", home / "counted", "--text", tmp_path / "never", "--json").out
    record = json.loads(printed, parse_constant=pytest.fail)
    assert (record["score"], record["logprob"], record["perplexity"]) == (None, None, None)
    assert None in record["token_logprobs"]


def test_mistakes_are_named(home: Path, command: Command, tmp_path: Path, small_run: Path) -> None:
    (tmp_path / "empty").write_text("\n\n", encoding="utf-8")
    (tmp_path / "one").write_text("one line " * 100 + "\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"a\n\x00\xff\n")
    out = ("--out", tmp_path / "out")
    for arguments, message in (
        (("train", "--task", "generate", "--text", tmp_path / "empty", *out), "no text in it"),
        (("train", "--task", "generate", "--text", tmp_path / "none", *out), "no such file"),
        (("train", "--task", "generate", "--text", tmp_path / "one", *out), "only one line of text"),
        (("train", "--task", "generate", "--text", tmp_path / "binary", *out), "binary:2: not UTF-8"),
        (("train", "--task", "generate", *out), "regard: settings: task 'generate' needs a text"),
        (("train", "--task", "paint", *out), "task = 'paint'"),
        (("evaluate", home / "counted", "--text", tmp_path / "empty"), "no text to evaluate on"),
        (("evaluate", home / "counted"), "--text F for a language model"),
        (("score", home / "counted", "--src", tmp_path / "empty"), "--text F for a language model"),
        (("translate", home / "counted"), "use `regard generate`"),
        (("explain", home / "counted", "show me"), "kind 'markov' has no layers that mix positions; only transformers"),
        (("explain", small_run, "il dort", "--beside", home / "trained"), "its task is to generate, not to translate"),
        (("generate", small_run), "use `regard translate`"),
        (("generate", home / "counted", "--temperature", "0"), "temperature = 0.0"),
        (("generate", home / "counted", "--beam", "-1"), "beam = -1"),
        (("generate", home / "counted", "--tempreature", "1"), "--temperature"),
    ):
        result = command(*arguments)
        assert result.code == 2, arguments
        assert message in result.err, result.err
        assert sum(line.startswith("regard:") for line in result.err.splitlines()) == 1


def test_a_tiny_text_is_learned_whole(command: Command, tmp_path: Path) -> None:
    """The lectures' three sentences: no word of them is held out, the output says so, and what is infinite is explained."""
    show = [f"Show me my {what} please" for what in ("directories", "files", "photos")]
    (tmp_path / "three.txt").write_text("".join(f"{line}\n" for line in show), encoding="utf-8")
    (tmp_path / "other.txt").write_text("Show me my cats please\nShow me my photos\n", encoding="utf-8")
    out = tmp_path / "run"
    settings = ("model.kind=markov", "model.order=1", "model.smoothing=none", "text.kind=word", "data.documents=line")
    sets = [word for setting in settings for word in ("--set", setting)]
    result = command("train", "--task", "generate", "--text", tmp_path / "three.txt", "--out", out, *sets)
    assert result.code == 0, result.err
    assert "note: a text of less than 500 characters: nothing is held out" in result.err
    assert "held out for validation" not in result.err
    assert f"training set, 18 tokens: perplexity {3 ** (3 / 18):.3f}" in result.err, "one choice of three, three times"
    drawn = command("generate", out, "-n", "40").out
    assert {text.strip() for text in drawn.split("---\n")} == set(show)

    judged = command("evaluate", out, "--text", tmp_path / "other.txt").out
    assert (
        "note: the perplexity is infinite: 6 of 15 tokens have no probability" in judged
    )  # the mark of a word, c a t s; the end
    assert "('cats' after 'my', the end after 'photos'); model.smoothing = 'kneser_ney'" in judged
    again = command(
        *("train", "--task", "generate", "--text", tmp_path / "three.txt", "--test-text", tmp_path / "other.txt"),
        *("--out", tmp_path / "judged", *sets),
    )
    assert "note: the perplexity is infinite" in again.err
    assert "The perplexity is infinite: 6 of 15 tokens" in (tmp_path / "judged/report.html").read_text(encoding="utf-8")

    unknown = command("generate", out, "Show me my cats", "--seed", "2")
    assert unknown.code == 0
    assert "note: the training text does not have 'cats', so" in unknown.err
    assert command("generate", out, "Show me").err == ""


def test_classifying(command: Command, tmp_path: Path) -> None:
    data, out = tmp_path / "data.tsv", tmp_path / "run"
    data.write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    settings = ("model.kind=bag", "text.kind=word", "train.max_steps=30", "train.warmup=1", "train.learning_rate=0.05")
    sets = [word for setting in settings for word in ("--set", setting)]
    result = command("train", "--task", "classify", "--data", data, "--out", out, *sets)
    assert result.code == 0, result.err
    assert "accuracy 100.0 %" in result.err
    assert '"confusion":{"labels":["bad","good"]' in (out / "report.html").read_text(encoding="utf-8")
    assert command("classify", out, stdin="a fine one\ndull dull\n").out == "good\nbad\n"
    assert "kind 'bag' has no layers that mix positions" in command("explain", out, "fine").err
    [record] = command("classify", out, "--json", stdin="fine").out.splitlines()
    assert json.loads(record)["probabilities"]["good"] > 0.5
    values = json.loads(command("evaluate", out, "--data", data, "--json").out)
    assert values["confusion"] == [[10, 0], [0, 10]]
    assert "accuracy 100.00 %" in command("evaluate", out, "--data", data).out
    data.write_text("a fine film\tstrange\n", encoding="utf-8")
    assert (
        "data.tsv:1: no such label as 'strange'; the labels are bad, good"
        in command("evaluate", out, "--data", data).err
    )
    assert "needs labelled texts" in command("train", "--task", "classify", "--out", tmp_path / "other").err

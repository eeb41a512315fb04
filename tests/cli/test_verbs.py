"""Every verb, as documented: what goes to stdout, and that it is what the API returns."""

import json
import tomllib
from pathlib import Path

import pytest

import regard
from regard.tasks.settings import parse_settings
from regard.tasks.translate.settings import TranslateSettings

LINES = ["je suis étudiant", "", "il m'a entarté"]


def test_translate_keeps_order_and_empty_lines(command, small_run) -> None:
    result = command("translate", small_run, "--beam", "2", stdin="\n".join(LINES) + "\n")
    expected = [t.text for t in regard.load(small_run).translate(LINES, beam=2)]
    assert result.code == 0
    assert result.out == "".join(f"{text}\n" for text in expected)
    assert result.out.split("\n")[1] == ""


def test_translate_files_and_a_last_line_without_newline(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\n".join(LINES), encoding="utf-8")
    result = command("translate", small_run, "-i", tmp_path / "in", "-o", tmp_path / "out", "--beam", "1")
    assert (result.code, result.out) == (0, "")
    assert (tmp_path / "out").read_text(encoding="utf-8").count("\n") == 3


def test_nbest_has_moses_fields_in_falling_order(command, small_run) -> None:
    result = command("translate", small_run, "--nbest", "3", "--beam", "4", stdin="\n".join(LINES) + "\n")
    rows = [line.split(" ||| ") for line in result.out.splitlines()]
    assert [row[0] for row in rows].count("0") == 3
    assert all(row[2].startswith("F0=") for row in rows)
    [best] = regard.load(small_run).translate([LINES[2]], beam=4, nbest=3)
    assert [row[3] for row in rows if row[0] == "2"] == [f"{one.score:.6f}" for one in best.alternatives]
    ranks = [(one.finished, one.score) for one in best.alternatives]  # what was cut comes after what has an end
    assert ranks == sorted(ranks, reverse=True)


def test_align_flag_adds_pharaoh_links_of_existing_words(command, small_run) -> None:
    result = command("translate", small_run, "--align", "--beam", "2", stdin=LINES[0] + "\n")
    text, links = result.out.rstrip("\n").split("\t")
    assert len(links.split()) == len(text.split()) > 0
    for link in links.split():
        source, target = map(int, link.split("-"))
        assert source < 3
        assert target < max(1, len(text.split()))


def test_sampling_is_decided_by_its_seed(command, small_run) -> None:
    first, same, other = (
        command("translate", small_run, "--sample", "--temperature", "2", "--seed", seed, stdin=LINES[0] + "\n").out
        for seed in ("1", "1", "2")
    )
    assert first == same != other


def test_score_and_align_verbs(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "fr").write_text("je suis étudiant\nil dort\n", encoding="utf-8")
    (tmp_path / "en").write_text("I am a student\nhe sleeps\n", encoding="utf-8")
    result = command("score", small_run, "--src", tmp_path / "fr", "--tgt", tmp_path / "en")
    expected = regard.load(small_run).score(["je suis étudiant", "il dort"], ["I am a student", "he sleeps"])
    assert [float(line) for line in result.out.split()] == pytest.approx([one.logprob for one in expected], abs=1e-4)
    records = command("score", small_run, "--src", tmp_path / "fr", "--tgt", tmp_path / "en", "--json").out.splitlines()
    record = json.loads(records[0])
    assert sum(record["token_logprobs"]) == pytest.approx(record["logprob"])
    aligned = command("align", small_run, "--src", tmp_path / "fr", "--tgt", tmp_path / "en").out.splitlines()
    assert len(aligned) == 2
    assert {int(link.split("-")[1]) for link in aligned[0].split()} == {0, 1, 2, 3}  # every target word once


def test_evaluate_reports_what_sacrebleu_says(command, small_run, tmp_path: Path) -> None:
    import sacrebleu

    (tmp_path / "fr").write_text("je suis étudiant\nil dort\n", encoding="utf-8")
    (tmp_path / "en").write_text("I am a student\nhe sleeps\n", encoding="utf-8")
    (tmp_path / "gold").write_text("0-0 1-1 2p2 2-3\n0-0 1-1\n", encoding="utf-8")
    arguments = ["--src", tmp_path / "fr", "--ref", tmp_path / "en", "--beam", "2", "-o", tmp_path / "out"]
    result = command("evaluate", small_run, *arguments, "--gold-align", tmp_path / "gold", "--json")
    values = json.loads(result.out)
    written = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert values["chrf"] == pytest.approx(
        sacrebleu.corpus_chrf(written, [["I am a student", "he sleeps"]]).score, abs=1e-8
    )
    assert "tok:13a" in values["signatures"]["bleu"]
    assert 0.0 <= values["aer"] <= 1.0
    table = command("evaluate", small_run, *arguments, "--tokenize", "none", "--lowercase").out
    assert "tok:none" in table
    assert "case:lc" in table


def test_info_describes_and_verifies(command, small_run) -> None:
    values = json.loads(command("info", small_run, "--json").out)
    assert values["languages"] == {"source": "fr", "target": "en"}
    assert values["problems"] == []
    assert all(file["state"] == "intact" for file in values["files"])
    assert "model.safetensors" in command("info", small_run).out


def test_init_prints_a_config_that_is_the_default(command) -> None:
    text = command("init").out
    assert parse_settings(tomllib.loads(text)) == TranslateSettings()
    assert "# Tokens in a batch" in text


def test_what_init_prints_is_trained_with(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text("to be or not to be\nthat is the question\n" * 30, encoding="utf-8")
    (tmp_path / "labelled.tsv").write_text("a fine film\tgood\na dull film\tbad\n" * 12, encoding="utf-8")
    for task, kind in (("generate", "markov"), ("classify", "bag")):
        (tmp_path / "run.toml").write_text(command("init", "--task", task, "--kind", kind).out, encoding="utf-8")
        trained = command("train", "run.toml", "--out", kind)
        assert trained.code == 0, trained.err
        assert json.loads((tmp_path / kind / "config.json").read_text(encoding="utf-8"))["model"]["kind"] == kind
    refused = command("init", "--kind", "markov")
    assert (refused.code, refused.out) == (2, "")
    assert "it is one of --task generate" in refused.err


def test_train_again_says_finished_and_other_settings_are_refused(command, small_run) -> None:
    config = small_run / "config.json"
    again = command("train", config, "--out", small_run)
    assert again.code == 0
    assert "finished" in again.err
    changed = command("train", config, "--out", small_run, "--set", "train.seed=9")
    assert changed.code == 2
    assert "train.seed: 2 -> 9" in changed.err


def test_report_can_be_made_anew(command, small_run) -> None:
    page = small_run / "report.html"
    page.unlink()
    assert command("report", small_run).out.strip() == str(page)
    text = page.read_text(encoding="utf-8")
    values = json.loads((small_run / "metrics.json").read_text(encoding="utf-8"))
    assert values["signatures"]["bleu"] in text
    assert '"beam_tree":null' not in text.replace(" ", "")


def test_a_preset_beats_the_sizes_that_a_file_wrote_out(command, small_run, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"mot{i} deux\tword{i} two\n" for i in range(60)), encoding="utf-8")
    sets = ("train.max_steps=1", "text.kind=char", "model.layers=1")
    arguments = ["--pairs", pairs, "--preset", "small", *(part for one in sets for part in ("--set", one))]
    result = command("train", small_run / "config.json", "--out", tmp_path / "run", *arguments)
    assert result.code == 0, result.err
    model = json.loads((tmp_path / "run/config.json").read_text(encoding="utf-8"))["model"]
    assert (model["preset"], model["width"], model["layers"]) == ("small", 256, 1)


def test_train_from_standard_input_and_recipe(command, tmp_path: Path) -> None:
    rows = "".join(f"mot{i} deux\tword{i} two\n" for i in range(60))
    out = tmp_path / "run"
    result = command("train", "--pairs", "-", "--out", out, "--recipe", "2017", "--preset", "tiny", *TINY, stdin=rows)
    assert result.code == 0, result.err
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert (config["model"]["norm"], config["train"]["schedule"], config["model"]["layers"]) == ("post", "noam", 1)


def test_version_and_help(command) -> None:
    assert command("--version").out.startswith("regard 0.")
    assert "translate" in command("--help").out


TINY = [
    *("--set", "text.kind=word", "--set", "text.vocabulary=50", "--set", "model.layers=1", "--set", "model.width=16"),
    *("--set", "model.heads=2", "--set", "model.feed_forward=16", "--set", "train.max_steps=3"),
]


@pytest.mark.parametrize("verb", ["train", "translate", "evaluate", "explain", "data check", "sweep", "generate"])
def test_help_names_no_type_of_python(command, verb: str) -> None:
    assert "list[" not in command(*verb.split(), "--help").out

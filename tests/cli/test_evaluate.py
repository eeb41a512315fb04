"""`regard evaluate` of files and of models: scores of several references and systems, and what users get wrong."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from test_without_torch import WITHOUT

FIRST = ["the cat sat on the mat .", "He sleeps in the old house.", "two dogs run", "nothing at all"]
SECOND = ["a cat was sitting on the mat .", "he sleeps in an old house.", "two dogs are running", "nothing"]
SYSTEM = ["the cat sat on a mat .", "he sleeps in the old house .", "two cats run fast", "nothing at all"]
BETTER = ["the cat sat on the mat .", "he sleeps in the old house.", "two dogs run", "nothing at all"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in {"ref1": FIRST, "ref2": SECOND, "hyp": SYSTEM, "better": BETTER}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def test_files_are_scored_as_sacrebleu_scores_them(command, files: Path) -> None:
    refs = ["--ref", files / "ref1", "--ref", files / "ref2"]
    values = json.loads(command("evaluate", "--hyp", files / "hyp", *refs, "--json").out)
    names = {"BLEU": "bleu", "chrF2": "chrf", "TER": "ter"}
    asked = [*("-m", "bleu", "chrf", "ter"), "-w", "10"]
    theirs = subprocess.run(
        [sys.executable, "-m", "sacrebleu", files / "ref1", files / "ref2", "-i", files / "hyp", *asked],
        capture_output=True,
        text=True,
        check=True,
    )
    for answer in json.loads(theirs.stdout):
        ours = values["scores"][names[answer["name"]]]
        assert ours["value"] == pytest.approx(answer["score"], abs=1e-8)
        assert ours["signature"] == answer["signature"]
        assert ours["interval"][0] <= ours["value"] <= ours["interval"][1]
    mean = pytest.approx(0.25, abs=0.02)
    exact = {"value": 0.25, "interval": [0.0, 0.75], "mean": mean, "signature": None}
    assert values["scores"]["exact_match"] == exact
    assert (values["sentences"], values["references"]) == (4, 2)
    assert values["bootstrap"] == {"resamples": 1000, "seed": 12345}
    text = command("evaluate", "--hyp", files / "hyp", *refs).out
    assert f"bleu         {values['scores']['bleu']['value']:8.3f}  [" in text
    assert "nrefs:2|case:mixed" in text
    plain = command("evaluate", "--hyp", "-", *refs, "--resamples", "0", "--metric", "chrf", stdin="\n".join(SYSTEM))
    assert plain.out.splitlines()[0].split("  ")[0] == "chrf"
    assert "[" not in plain.out
    assert "bleu" not in plain.out


def test_several_systems_are_a_table(command, files: Path) -> None:
    systems = ["--hyp", files / "hyp", "--hyp", files / "better", "--ref", files / "ref1"]
    values = json.loads(command("evaluate", *systems, "--json").out)
    assert values["baseline"] == str(files / "hyp")
    first, second = (system["scores"]["bleu"] for system in values["systems"])
    assert "against_baseline" not in first
    assert second["against_baseline"]["difference"] == pytest.approx(second["value"] - first["value"])
    table = command("evaluate", *systems).out
    assert f"p: against {files / 'hyp'}, paired bootstrap, 1,000 resamples of the sentences" in table
    [row] = [line for line in table.splitlines() if line.strip().startswith(str(files / "better"))]
    assert f"{second['against_baseline']['p_value']:.3f}" in row.split()
    bare = command("evaluate", *systems, "--resamples", "0").out
    assert "interval" not in bare


def test_no_torch_is_needed(files: Path) -> None:
    for hyps in (["hyp"], ["hyp", "better"]):
        given = [word for hyp in hyps for word in ("--hyp", hyp)]
        command = [sys.executable, "-c", WITHOUT, "evaluate", *given, "--ref", "ref1"]
        result = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert "nrefs:1" in result.stdout


def test_a_metric_of_an_extension(files: Path) -> None:
    (files / "own.py").write_text(
        "import regard\nfrom regard.metrics.scores import Metric\n"
        "def first(ours, right):\n"
        "    return [float(a.split()[:1] == b.split()[:1]) for a, b in zip(ours, right, strict=True)]\n"
        "regard.extend(metrics=[Metric('first_word', 'first word', sentence_scores=first)])\n",
        encoding="utf-8",
    )
    base = [sys.executable, "-c", WITHOUT, "evaluate", "--extension", "own.py", "--hyp", "hyp"]
    for refs, value in ((["ref1"], 0.75), (["ref1", "ref2"], 1.0)):  # "he" is the first word of the second alone
        given = [word for ref in refs for word in ("--ref", ref)]
        asked = [*base, *given, "--metric", "first_word", "--json"]
        result = subprocess.run(asked, cwd=files, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["scores"]["first_word"]["value"] == value


def test_compressed_windows_and_blank_lines(command, files: Path) -> None:
    (files / "hyp.gz").write_bytes(gzip.compress("".join(f"{line}\r\n" for line in SYSTEM).encode()))
    (files / "blank").write_text(f"{SECOND[0]}\n\n\n{SECOND[3]}\n", encoding="utf-8")
    same = [
        json.loads(command("evaluate", "--hyp", files / hyp, "--ref", files / "ref1", "--json").out)["scores"]
        for hyp in ("hyp", "hyp.gz")
    ]
    assert same[0] == same[1]
    varying = command("evaluate", "--hyp", files / "hyp", "--ref", files / "ref1", "--ref", files / "blank")
    assert "blank: 2 of 4 lines are empty, and no references where another file has one" in varying.err
    assert "nrefs:var|" in varying.out
    (files / "silent").write_text("\n\n\n\n", encoding="utf-8")
    silent = command("evaluate", "--hyp", files / "silent", "--ref", files / "ref1")
    assert "silent: 4 of 4 lines are empty, and judged as they are" in silent.err
    assert silent.out.startswith("bleu            0.000")


def test_mistakes_are_named(command, files: Path, small_run: Path) -> None:
    (files / "short").write_text("one\ntwo\n", encoding="utf-8")
    (files / "empty").write_text("", encoding="utf-8")
    (files / "blank").write_text("\n\n\n\n", encoding="utf-8")
    (files / "latin1").write_bytes("déjà\n".encode("latin-1"))
    (files / "link").symlink_to("ref1")
    hyp, ref = ("--hyp", files / "hyp"), ("--ref", files / "ref1")
    for arguments, message in (
        ((), "give DIR, a run or a bundle; or --hyp F --ref F"),
        (hyp, "--hyp: give its reference translations too, as --ref F"),
        ((small_run, *hyp, *ref), "no model is needed to score --hyp; leave out one of the two"),
        ((*hyp, *ref, "--beam", "4"), "--beam 4: --hyp is scored without a model"),
        ((*hyp, *ref, "-o", files / "out"), "--hyp is scored without a model"),
        ((*hyp, *ref, "--src", files / "hyp"), "--hyp is scored without a model"),
        ((*hyp, "--ref", files / "short"), "short has 2 lines but"),
        ((*hyp, "--ref", files / "empty"), "empty has 0 lines but"),
        (("--hyp", files / "empty", "--ref", files / "empty"), "empty: no sentences to evaluate on"),
        ((*hyp, *ref, "--ref", files / "blank"), "blank: no sentences to evaluate on"),
        ((*hyp, *ref, *ref), f"--ref {files / 'ref1'}: given twice"),
        ((*hyp, *ref, "--ref", files / "link"), f"--ref {files / 'link'}: given twice"),
        ((*hyp, *hyp, *ref), f"--hyp {files / 'hyp'}: given twice"),
        (("--hyp", "-", "--ref", "-"), "standard input '-' can be read only once"),
        (("--hyp", files / "latin1", *ref), "latin1:1: not UTF-8 (byte 0xe9 at column 2)"),
        (("--hyp", files / "none", *ref), "none: no such file"),
        ((*hyp, *ref, "--tokenize", "moses"), "--tokenize moses: not one of 13a"),
        ((*hyp, *ref, "--metric", "comet"), "--metric comet: not one of bleu, chrf, ter, exact_match"),
        ((small_run, "--src", files / "hyp", *ref, "--metric", "comet"), "--metric comet: not one of"),
        ((small_run, "--src", files / "hyp", *ref, *ref), "given twice"),
        (
            (small_run,),
            "give --src F --ref F for a translator, --text F for a language model, --data F for a classifier, --images F for a",
        ),
        ((small_run, "--src", files / "hyp"), "--ref is missing: a translator is evaluated by --src F --ref F"),
        ((small_run, "--src", files / "hyp", *ref, "--text", files / "hyp"), "give --src F --ref F for a translator"),
        ((small_run, "--data", files / "hyp"), "its task is to translate, not to classify; use `regard translate`"),
        ((small_run, "--text", files / "hyp"), "its task is to translate, not to generate; use `regard translate`"),
    ):
        result = command("evaluate", *arguments)
        assert result.code == 2, arguments
        assert message in result.err, result.err
        assert result.out == ""
        assert result.err.count("\n") == 1, result.err


def test_a_model_is_judged_by_several_references(command, small_run: Path, files: Path) -> None:
    given = [small_run, "--src", files / "hyp", "--ref", files / "ref1", "--ref", files / "ref2", "--beam", "1"]
    values = json.loads(command("evaluate", *given, "-o", files / "out", "--json").out)
    refs = ["--ref", files / "ref1", "--ref", files / "ref2"]
    same = json.loads(command("evaluate", "--hyp", files / "out", *refs, "--json").out)
    assert values["scores"] == same["scores"]
    assert {name: values[name] for name in same["scores"]} == {
        name: score["value"] for name, score in same["scores"].items()
    }
    assert (values["references"], values["sentences"], values["bootstrap"]) == (2, 4, same["bootstrap"])
    assert values["signatures"]["bleu"] == same["scores"]["bleu"]["signature"]
    only = command("evaluate", *given, "--metric", "chrf", "--resamples", "0").out.splitlines()
    assert [line.split()[0] for line in only] == ["chrf", "alpha", "sentences", "references"]


def test_the_numbers_of_a_runs_own_test_set_are_those_of_its_metrics(command, small_run: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (small_run / "translations.jsonl").read_text(encoding="utf-8").splitlines()]
    for name in ("source", "reference", "hypothesis"):
        (tmp_path / name).write_text("".join(f"{row[name]}\n" for row in rows), encoding="utf-8")
    kept = json.loads((small_run / "metrics.json").read_text(encoding="utf-8"))
    given = ["--src", tmp_path / "source", "--ref", tmp_path / "reference", "--engine", "torch", "--json"]
    found = json.loads(command("evaluate", small_run, *given).out)
    for name in ("bleu", "chrf", "ter", "exact_match", "length_ratio", "signatures", "sentences", "beam", "alpha"):
        assert found[name] == kept[name], name
    assert found["perplexity"] == pytest.approx(kept["perplexity"], rel=1e-5)
    files = json.loads(
        command("evaluate", "--hyp", tmp_path / "hypothesis", "--ref", tmp_path / "reference", "--json").out
    )
    for name, score in files["scores"].items():
        assert score["value"] == kept[name], name
    compared = json.loads(command("compare", small_run, "--format", "json").out)
    assert compared["rows"][0]["scores"]["bleu"]["mean"] == kept["bleu"]
    assert compared["signatures"]["bleu"] == files["scores"]["bleu"]["signature"]


def test_an_alignment_method_is_for_gold_alignments(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("je suis\n", encoding="utf-8")
    sides = ["--src", tmp_path / "a", "--ref", tmp_path / "a"]
    refused = command("evaluate", small_run, *sides, "--align-method", "norm")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "regard: --align-method norm: it is judged by gold alignments; give --gold-align F, or leave it out\n"
    )

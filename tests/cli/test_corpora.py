"""Several corpora on the command line and in a settings file; languages that a task does not have."""

import json
from pathlib import Path

import pytest

TINY = ["--set", "text.kind=char", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2"]
TINY += ["--set", "train.max_steps=2", "--set", "train.batch_tokens=256"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for stem, start in (("a", 0), ("b", 100)):
        numbers = range(start, start + 40)
        (tmp_path / f"{stem}.fr").write_text("".join(f"maison {n}\n" for n in numbers), encoding="utf-8")
        (tmp_path / f"{stem}.en").write_text("".join(f"house {n}\n" for n in numbers), encoding="utf-8")
    (tmp_path / "c.tsv").write_text("".join(f"route {n}\troad {n}\n" for n in range(30)), encoding="utf-8")
    return tmp_path


def complaint(result) -> str:
    assert result.code == 2, (result.code, result.out, result.err)
    assert "Traceback" not in result.err
    [line] = [line for line in result.err.splitlines() if line.startswith("regard: ")]
    return line


def test_repeated_files_are_all_trained_on(command, files: Path) -> None:
    sides = [part for stem in "ab" for part in ("--src", files / f"{stem}.fr", "--tgt", files / f"{stem}.en")]
    result = command("train", *sides, "--out", files / "run", *TINY)
    assert result.code == 0, result.err
    assert "79 training examples, 1 held out" in result.err
    assert result.err.count("note: validation on 1 pair: its scores are noise; give --valid-src and --valid-tgt\n") == 1
    config = json.loads((files / "run" / "config.json").read_text(encoding="utf-8"))
    assert [row["src"] for row in config["data"]["corpora"]] == [str(files / "a.fr"), str(files / "b.fr")]
    metrics = json.loads((files / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["languages"] == {"source": "fr", "target": "en"}
    again = command("train", *sides, "--out", files / "run", *TINY)
    assert again.code == 0
    assert "this run is finished" in again.err
    assert "other settings (data.corpora" in complaint(command("train", *sides[:4], "--out", files / "run", *TINY))


def test_a_settings_file_gives_weights_and_flags_replace_its_corpora(command, files: Path) -> None:
    rows = f'[[data.corpora]]\nsrc = "{files}/a.fr"\ntgt = "{files}/a.en"\nweight = 0.5\n'
    rows += f'[[data.corpora]]\npairs = "{files}/c.tsv"\nweight = 2\n'
    (files / "run.toml").write_text(rows, encoding="utf-8")
    result = command("train", files / "run.toml", "--out", files / "mixed", *TINY)
    assert result.code == 0, result.err
    assert "69 training examples, 1 held out" in result.err
    flags = ["--src", files / "b.fr", "--tgt", files / "b.en"]
    result = command("train", files / "run.toml", *flags, "--out", files / "one", *TINY)
    assert "39 training examples, 1 held out" in result.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--src", "a.fr", "--src", "b.fr", "--tgt", "a.en"], "--src is given 2 times and --tgt 1 times; give a --tgt"),
        (["--src", "a.fr", "--src", "b.fr"], "--src is given 2 times and --tgt 0 times"),
        (
            ["--src", "a.fr", "--tgt", "a.en", "--pairs", "c.tsv", "--pairs", "c.tsv"],
            "--src and --pairs exclude each other",
        ),
        (
            ["--src", "a.fr", "--src", "b.en", "--tgt", "a.en", "--tgt", "b"],
            "b.en: a corpus without languages among several directions; give it tgt_lang",
        ),
        (["--src", "a.fr", "--src", "no.fr", "--tgt", "a.en", "--tgt", "no.en"], "no.fr: no such file"),
        (
            ["--src", "a.fr", "--src", "e.fr", "--tgt", "a.en", "--tgt", "e.en"],
            "e.fr and e.en: no sentence pairs to train on",
        ),
        (["--src", "a.fr", "--src", "bad.fr", "--tgt", "a.en", "--tgt", "b.en"], "bad.fr:2: not UTF-8"),
        (["--src", "a.fr", "--src", "-", "--tgt", "a.en", "--tgt", "-"], "standard input '-' can be read only once"),
        (
            ["--set", 'data.corpora=[{src="a.fr",tgt="a.en",weight=0}]'],
            "data.corpora.0.weight = 0: input should be greater",
        ),
        (
            ["--set", 'data.corpora=[{src="a.fr",tgt="a.en",weight=-1}]'],
            "data.corpora.0.weight = -1: input should be greater",
        ),
        (["--set", 'data.corpora=[{src="a.fr"}]'], "data.corpora.0: src = 'a.fr' needs tgt"),
        (["--set", "data.corpora=[{weight=2}]"], "data.corpora.0: a corpus without files; give src and tgt, or pairs"),
        (["--set", 'data.corpora=[{scr="a.fr"}]'], "did you mean"),
        (["--src", "a.fr", "--tgt", "a.en", "--set", 'data.corpora=[{pairs="c.tsv"}]'], "corpora exclude each other"),
    ],
)
def test_bad_corpora_are_one_line(command, files: Path, monkeypatch, flags: list[str], message: str) -> None:
    (files / "e.fr").touch()
    (files / "e.en").touch()
    (files / "bad.fr").write_bytes(b"maison\nd\xe9j\xe0\n" + b"x\n" * 38)
    monkeypatch.chdir(files)
    assert message in complaint(command("train", *flags, "--out", "run", *TINY))


def test_a_task_without_a_source_refuses_its_language(command, files: Path) -> None:
    (files / "labels.tsv").write_text("good\tyes\nbad\tno\n" * 10, encoding="utf-8")
    for task, data in (("classify", ["--data", files / "labels.tsv"]), ("generate", ["--text", files / "a.fr"])):
        line = complaint(command("train", "--task", task, *data, "--src-lang", "en", "--out", files / "run"))
        assert f"data.src_lang has no meaning for task {task!r}" in line


def test_check_takes_several_corpora(command, files: Path) -> None:
    sides = [part for stem in "ab" for part in ("--src", files / f"{stem}.fr", "--tgt", files / f"{stem}.en")]
    result = command("data", "check", *sides, "--json")
    assert [json.loads(line)["source"]["name"] for line in result.out.splitlines()] == [
        sides[1].__str__(),
        sides[5].__str__(),
    ]
    assert result.code == 0
    (files / "b.en").write_text("one\n", encoding="utf-8")
    result = command("data", "check", *sides)
    assert result.code == 2
    assert result.out.count("verdict") == 2
    assert "--tgt 1 times" in complaint(command("data", "check", *sides[:-2]))


def test_check_asks_a_model_if_one_is_given(command, small_run, tmp_path: Path) -> None:
    """It has learned too little to tell, and says so."""
    from regard.data.pocket.corpus import pocket_split

    pairs = pocket_split(train=400, valid=1, test=1, seed=1).train
    (tmp_path / "p.tsv").write_text("".join(f"{pair.french}\t{pair.english}\n" for pair in pairs), encoding="utf-8")
    result = command("data", "check", "--pairs", tmp_path / "p.tsv", "--model", small_run)
    assert result.code == 0, result.err
    assert "unlikely by model   " in result.out
    assert "unlikely by model" not in command("data", "check", "--pairs", tmp_path / "p.tsv").out
    report = json.loads(command("data", "check", "--pairs", tmp_path / "p.tsv", "--model", small_run, "--json").out)
    assert report["by_model"] is True
    assert "no such" in complaint(command("data", "check", "--pairs", tmp_path / "p.tsv", "--model", tmp_path / "none"))

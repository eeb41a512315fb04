"""What users get wrong: one line on stderr that names it and says what to do, exit code 2, no traceback, nothing lost."""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TINY = ["--set", "model.layers=1", "--set", "train.max_steps=2"]


def complaint(result) -> str:
    """The one line, after what a command says while all is well."""
    assert result.code == 2, (result.code, result.out, result.err)
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("regard: ")]
    assert len(lines) == 1, result.err
    assert result.err.splitlines()[-1] == lines[0]
    return lines[0]


def test_a_mistyped_option_of_a_group_names_the_help_that_lists_it(command) -> None:
    assert "(regard data check --help shows" in complaint(command("data", "check", "--srcc", "x"))
    assert "(regard train --help shows" in complaint(command("train", "data", "--srcc", "x"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.fr").write_text("un\ndeux\ntrois\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "short.en").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "latin1.fr").write_bytes(b"un\nd\xe9j\xe0\ntrois\n")
    (tmp_path / "empty.fr").write_text("", encoding="utf-8")
    return tmp_path


def train(command, files: Path, src: str, tgt: str, *more: str):
    return command("train", "--src", files / src, "--tgt", files / tgt, "--out", files / "run", *TINY, *more)


def test_an_output_never_takes_the_place_of_what_is_read(command, small_run, files: Path) -> None:
    (files / "link").symlink_to("a.fr")
    for output in ("a.fr", "link"):
        line = complaint(command("translate", small_run, "-i", files / "a.fr", "-o", files / output))
        assert f"-o {files / output}: that is what is read" in line
    for output in ("a.fr", "a.en"):
        asked = ("evaluate", small_run, "--src", files / "a.fr", "--ref", files / "a.en", "-o", files / output)
        assert f"-o {files / output}: that is what is read" in complaint(command(*asked))
    assert (files / "a.fr").read_text(encoding="utf-8") == "un\ndeux\ntrois\n"
    assert (files / "a.en").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_an_output_that_is_a_link_is_followed(command, small_run, files: Path, verb: str) -> None:
    (files / "there").mkdir()
    (files / "link").symlink_to(Path("there") / "out")
    inputs = ["-i", files / "a.fr"] if verb == "translate" else ["--src", files / "a.fr", "--ref", files / "a.en"]
    for _ in range(2):  # a target that is not there yet, and one that is
        assert command(verb, small_run, *inputs, "-o", files / "link", "--beam", "1").code == 0
        assert (files / "link").is_symlink()
        assert [path.name for path in (files / "there").iterdir()] == ["out"]
        assert (files / "there/out").read_text(encoding="utf-8").count("\n") == 3


def test_an_output_that_is_a_link_to_itself_is_replaced(command, small_run, files: Path) -> None:
    (files / "link").symlink_to("link")
    assert command("translate", small_run, "-i", files / "a.fr", "-o", files / "link", "--beam", "1").code == 0
    assert (files / "link").read_text(encoding="utf-8").count("\n") == 3


def test_empty_lines_are_told_before_they_are_judged(command, small_run, files: Path) -> None:
    (files / "blank.fr").write_text("\n\n\n", encoding="utf-8")
    (files / "half.fr").write_text("un\n\n\n", encoding="utf-8")
    ref = ("--ref", files / "a.en")
    assert "blank.fr: no sentences" in complaint(command("evaluate", small_run, "--src", files / "blank.fr", *ref))
    assert "half.fr: 2 of 3 lines are empty" in command("evaluate", small_run, "--src", files / "half.fr", *ref).err


def test_options_are_not_blamed_on_the_file_and_take_the_place_of_what_it_says(command, files: Path) -> None:
    (files / "run.toml").write_text(f'[data]\nsrc = "{files}/no.fr"\ntgt = "{files}/no.en"\n', encoding="utf-8")
    (files / "a.tsv").write_text("un\tone\n" * 2 + "deux\ttwo\n" * 2, encoding="utf-8")
    base = ["train", files / "run.toml", "--out", files / "run", *TINY]
    wrong = complaint(command(*base, "--set", "train.seed=x"))
    assert f"{files / 'run.toml'}, as the options change it: train.seed = 'x'" in wrong
    assert "train = 3: expected a table of settings, [train]" in complaint(command(*base[:-4], "--set", "train=3"))
    assert "a directory, not a config file" in complaint(command("train", files, *base[2:]))
    assert "no.fr: no such file" in complaint(command(*base))
    trained = command(*base, "--pairs", files / "a.tsv", "--src-lang", "fr", "--tgt-lang", "en")
    assert trained.code == 0, trained.err


def test_unequal_line_counts(command, files: Path) -> None:
    line = complaint(train(command, files, "a.fr", "short.en"))
    assert "a.fr" in line
    assert "short.en" in line
    assert "3" in line
    assert "2" in line


def test_missing_file(command, files: Path) -> None:
    assert "nowhere.fr" in complaint(train(command, files, "nowhere.fr", "a.en"))


def test_invalid_utf8_names_the_line(command, files: Path) -> None:
    assert "latin1.fr:2" in complaint(train(command, files, "latin1.fr", "a.en"))


def test_empty_corpus(command, files: Path) -> None:
    assert "empty.fr" in complaint(train(command, files, "empty.fr", "empty.fr"))


def test_a_line_of_100_000_characters_is_counted_not_fatal(command, tmp_path: Path) -> None:
    words = [f"mot{i}" for i in range(40)]
    (tmp_path / "x.fr").write_text("\n".join([*words, "a" * 100_000]) + "\n", encoding="utf-8")
    (tmp_path / "x.en").write_text("\n".join([*words, "b" * 100_000]) + "\n", encoding="utf-8")
    result = train(command, tmp_path, "x.fr", "x.en", "--set", "text.vocabulary=300")
    assert result.code == 0, result.err
    assert "1 too long" in result.err


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("train.max_step=5", "max_steps"),
        ("modle.layers=5", "model"),
        ("model.dropout=1.5", "model.dropout"),
        ("model.heads=5", "heads"),
        ("train.optimizer=adamm", "train.optimizer"),
        ("train.device=gpu", "train.device"),
        ("text.dropout=2", "text.dropout"),
        ("train.max_steps", "KEY=VALUE"),
        ("train.batch_tokens=many", "train.batch_tokens"),
    ],
)
def test_bad_settings_are_named(command, files: Path, assignment: str, expected: str) -> None:
    assert expected in complaint(train(command, files, "a.fr", "a.en", "--set", assignment))
    assert not (files / "run").exists()


def test_bad_config_files(command, tmp_path: Path) -> None:
    assert "no such config file" in complaint(command("train", tmp_path / "no.toml", "--out", tmp_path / "run"))
    (tmp_path / "bad.toml").write_text("[train\n", encoding="utf-8")
    assert "not valid TOML" in complaint(command("train", tmp_path / "bad.toml", "--out", tmp_path / "run"))
    (tmp_path / "typo.toml").write_text("[trian]\nseed = 1\n", encoding="utf-8")
    assert "did you mean 'train'" in complaint(command("train", tmp_path / "typo.toml", "--out", tmp_path / "run"))
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    assert "bad.json" in complaint(command("train", tmp_path / "bad.json", "--out", tmp_path / "run"))


def test_missing_out_and_unknown_things(command, tmp_path: Path) -> None:
    assert "--out" in complaint(command("train"))
    assert "--frobnicate" in complaint(command("train", "--frobnicate"))
    assert "tranlsate" in complaint(command("tranlsate"))
    assert "--recipe" in complaint(command("train", "--out", tmp_path / "r", "--recipe", "1917"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "file" in complaint(command("train", "--out", tmp_path / "file", *TINY))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--beam", "0"], "beam"),
        (["--beam", "two"], "beam"),
        (["--alpha", "-1"], "alpha"),
        (["--nbest", "9", "--beam", "3"], "nbest"),
        (["--sample", "--temperature", "0"], "temperature"),
        (["--sample", "--top-p", "1.5"], "top_p"),
        (["--max-length", "0"], "max_length"),
        (["--device", "cuda:77"], "cuda:77"),
        (["-i", "/nowhere/text"], "/nowhere/text"),
    ],
)
def test_bad_translate_options(command, small_run: Path, options: list[str], expected: str) -> None:
    assert expected in complaint(command("translate", small_run, *options, stdin="je dors\n"))


def test_binary_on_standard_input(command, small_run: Path) -> None:
    assert ":2" in complaint(command("translate", small_run, stdin=b"je dors\n\xff\xfe\x00\n"))


def test_a_very_long_line_is_cut_with_a_warning(command, small_run: Path) -> None:
    result = command("translate", small_run, "--beam", "1", "--max-length", "5", stdin="chat " * 20_000 + "\nje dors\n")
    assert result.code == 0
    assert result.out.count("\n") == 2
    assert "warning" in result.err
    assert "Traceback" not in result.err


def test_an_output_file_is_not_lost_to_a_mistake(command, small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("je dors\n", encoding="utf-8")
    complaint(command("translate", small_run, "-i", tmp_path / "nowhere", "-o", tmp_path / "precious"))
    (tmp_path / "in").write_text("il dort\n", encoding="utf-8")
    complaint(command("translate", small_run, "--beam", "0", "-i", tmp_path / "in", "-o", tmp_path / "precious"))
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "je dors\n"


def test_output_that_goes_nowhere(small_run: Path) -> None:
    regard = Path(sys.executable).parent / "regard"
    lines = "".join("je dors\n" for _ in range(3000))
    piped = f"{regard} translate {small_run} --beam 1 --max-length 3 | head -n 1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", piped], input=lines, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    full = f"{regard} translate {small_run} --beam 1 --max-length 3 > /dev/full"
    result = subprocess.run(["bash", "-c", full], input=lines, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("regard: standard output: no space left")
    assert result.stderr.count("\n") == 1


def test_things_a_newcomer_tried(command, small_run: Path, files: Path, tmp_path: Path) -> None:
    assert command("translate", small_run, "-o", tmp_path / "new/x", stdin="je\n").code == 0, "the folder is made"
    assert (tmp_path / "new/x").read_text(encoding="utf-8").count("\n") == 1
    assert "only once" in complaint(command("score", small_run, "--src", "-", "--tgt", "-", stdin="a\nb\n"))
    assert "--sample" in complaint(command("translate", small_run, "--top-p", "0.5", stdin="je\n"))
    (files / "scalar.toml").write_text("train = 3\n", encoding="utf-8")
    assert "train" in complaint(command("train", files / "scalar.toml", "--out", files / "run"))
    assert "train" in complaint(command("train", files / "scalar.toml", "--out", files / "run", "--minutes", "1"))
    (files / "typo.toml").write_text("[train]\nmax_step = 3\n", encoding="utf-8")
    assert "typo.toml: unknown key 'train.max_step'" in complaint(
        command("train", files / "typo.toml", "--out", files / "r")
    )
    (files / "gold").write_text("0-0\n0-9\n0-0\n", encoding="utf-8")
    gold = ["--src", files / "a.fr", "--ref", files / "a.en", "--gold-align", files / "gold"]
    assert "gold:2: link 0-9" in complaint(command("evaluate", small_run, *gold))
    assert "Commands:" in command().err
    train(command, files, "nowhere.fr", "a.en")
    assert not (files / "run").exists()  # a failed start leaves nothing behind


def test_metrics_of_other_settings_are_not_called_finished(command, small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/checkpoints")
    assert "other settings" in complaint(command("train", "--out", tmp_path / "run"))


def test_compressed_output(command, small_run: Path, tmp_path: Path) -> None:
    assert command("translate", small_run, "--beam", "1", "-o", tmp_path / "out.gz", stdin="je dors\n").code == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode("utf-8").count("\n") == 1


def test_not_a_bundle(command, tmp_path: Path) -> None:
    assert "no such directory" in complaint(command("translate", tmp_path / "nowhere"))
    assert str(tmp_path) in complaint(command("translate", tmp_path))
    assert str(tmp_path) in complaint(command("report", tmp_path))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "joint.spm", "manifest.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_damaged_bundles_name_the_file(command, small_run: Path, tmp_path: Path, name: str, damage: str) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(small_run / "checkpoints/step-00000012", copy)
    content = bytearray((copy / name).read_bytes())
    if damage == "truncated":
        (copy / name).write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        (copy / name).write_bytes(content)
    else:
        (copy / name).unlink()
    assert name in complaint(command("translate", copy, stdin="je dors\n"))
    info = command("info", copy)
    assert info.code == 2
    assert name in info.err
    assert "Traceback" not in info.err


def test_a_full_disk_names_what_to_do(files: Path) -> None:
    """A real refusal of the system: no file may grow beyond 200 KiB, and the first checkpoint is larger."""
    regard = Path(sys.executable).parent / "regard"
    command = f"ulimit -f 200; exec {regard} train --src a.fr --tgt a.en --out run --set train.max_steps=2"
    environment = {**os.environ, "REGARD_CACHE": str(files / "cache"), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        ["bash", "-c", command], cwd=files, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert "no space left" in result.stderr.splitlines()[-1]
    assert not list((files / "run/checkpoints").iterdir())


def test_data_check_names_the_lines(command, files: Path) -> None:
    good = command("data", "check", "--src", files / "a.fr", "--tgt", files / "a.en")
    assert good.code == 0
    bad = command("data", "check", "--src", files / "latin1.fr", "--tgt", files / "short.en")
    assert bad.code == 2
    assert "2" in bad.out
    assert "--src" in complaint(command("data", "check", "--src", files / "a.fr"))


def test_another_language_is_told_once_and_changes_nothing(command, small_run) -> None:
    lines = ["je suis étudiant", "Привет, как дела?", "Мальчик играет в мяч"]
    result = command("translate", small_run, "--beam", "1", stdin="\n".join(lines) + "\n")
    assert result.code == 0
    assert result.out.count("\n") == 3
    assert result.err == (
        "regard: warning: line 2: most of it is unknown to the vocabulary; this model reads fr (this is told once)\n"
    )

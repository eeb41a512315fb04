"""`regard translate` on long, broken and interrupted input: order, going on, and what comes out besides."""

import fcntl
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.test_bad_input import complaint
from regard.cli.resumable import resumable
from regard.errors import DiskError

OPTIONS = ["--beam", "1", "--max-length", "6"]
LINES = [f"je suis le numéro {number} " + "et je dors " * (number % 7) for number in range(900)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.fr"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def expected(command, small_run, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("expected") / "in.fr"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    result = command("translate", small_run, "-i", path, *OPTIONS)
    assert result.code == 0, result.err
    return result.out


def left_over(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if "partial" in path.name)


def stopped_half_way(command, monkeypatch: pytest.MonkeyPatch, *arguments: object, verb: str = "translate") -> None:
    """The command, as if Ctrl-C had been pressed when two windows were written."""
    from regard.cli.resumable import ResumableFile

    add, calls = ResumableFile.append, []

    def interrupted(self: ResumableFile, *values: object) -> None:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(values)
        add(self, *values)

    with monkeypatch.context() as patched:
        patched.setattr(ResumableFile, "append", interrupted)
        result = command(verb, *arguments)
    assert result.code == 130
    assert "512 lines are done and kept in" in result.err


def test_many_windows_in_order_whatever_the_engine(command, small_run, text: Path, expected: str) -> None:
    assert expected.count("\n") == len(LINES)
    for engine in ("torch", "ct2"):
        result = command("translate", small_run, "-i", text, "--engine", engine, *OPTIONS)
        assert result.out == expected, engine
    alone = [command("translate", small_run, *OPTIONS, stdin=LINES[place]).out for place in (0, 300, 899)]
    assert alone == [f"{expected.splitlines()[place]}\n" for place in (0, 300, 899)]


def test_labels_are_gone_on_with_too(command, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{line}\t{number % 2}\n" for number, line in enumerate(LINES[:40])), encoding="utf-8")
    changes = ("--set", "model.kind=bag", "--set", "text.kind=char", "--set", "train.max_epochs=1")
    assert command("train", "--task", "classify", "--data", data, "--out", tmp_path / "run", *changes).code == 0
    whole = command("classify", tmp_path / "run", "-i", text).out
    arguments = [tmp_path / "run", "-i", text, "-o", tmp_path / "labels"]
    stopped_half_way(command, monkeypatch, *arguments, verb="classify")
    again = command("classify", *arguments)
    assert (again.code, "going on after line 512" in again.err) == (0, True)
    assert (tmp_path / "labels").read_text(encoding="utf-8") == whole


def test_a_bad_line_before_the_interruption_is_told_of_in_the_end(
    command, small_run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.fr"
    bad.write_bytes(b"je dors\n\xff\xfe\n" + text.read_bytes())
    arguments = [small_run, "-i", bad, "-o", tmp_path / "out", *OPTIONS]
    stopped_half_way(command, monkeypatch, *arguments)
    line = complaint(command("translate", *arguments))
    assert f"{bad}:2" in line
    assert "here 1" in line
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines()[1] == ""


@pytest.mark.parametrize("name", ["out.en", "out.en.gz"])
def test_an_interrupted_file_is_gone_on_with(
    command, small_run, text: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    out = tmp_path / name
    arguments = [small_run, "-i", text, "-o", out, *OPTIONS]
    stopped_half_way(command, monkeypatch, *arguments)
    assert not out.exists()
    assert left_over(tmp_path) == [f"{name}.partial", f"{name}.partial.json"]
    with (tmp_path / f"{name}.partial").open("ab") as file:
        file.write(b"half a li")  # what was not told in the other file was not written
    again = command("translate", *arguments)
    assert again.code == 0, again.err
    assert "going on after line 512" in again.err
    content = gzip.decompress(out.read_bytes()) if name.endswith(".gz") else out.read_bytes()
    assert content.decode("utf-8") == expected
    assert left_over(tmp_path) == []


def test_going_on_needs_the_same_settings_and_the_same_input(
    command, small_run, text: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.en"
    arguments = [small_run, "-i", text, "-o", out, *OPTIONS]
    stopped_half_way(command, monkeypatch, *arguments)
    refused = command("translate", *arguments, "--alpha", "0.5")
    assert "the same command goes on" not in refused.err  # this one does not
    line = complaint(refused)
    assert "alpha 1.0 -> 0.5" in line
    assert "out.en.partial" in line
    other = tmp_path / "other.fr"
    other.write_text(text.read_text(encoding="utf-8").replace("numéro 7 ", "numéro 8 "), encoding="utf-8")
    refused = command("translate", small_run, "-i", other, "-o", out, *OPTIONS)
    assert "another text" in complaint(refused)
    assert "the same command goes on" not in refused.err
    missing = command("translate", small_run, "-i", tmp_path / "none", "-o", out, *OPTIONS)
    assert "no such file" in complaint(missing)
    assert "the same command goes on" not in missing.err
    other.write_text("je dors\n", encoding="utf-8")
    assert "another text" in complaint(command("translate", small_run, "-i", other, "-o", out, *OPTIONS))
    with text.open("a", encoding="utf-8") as file:
        file.write("je dors")  # lines that were not reached yet may be new
    assert command("translate", *arguments).code == 0
    assert out.read_text(encoding="utf-8").startswith(expected)
    assert out.read_text(encoding="utf-8").count("\n") == len(LINES) + 1


def test_deleting_what_is_there_starts_anew(
    command, small_run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.en"
    arguments = [small_run, "-i", text, "-o", out, *OPTIONS]
    stopped_half_way(command, monkeypatch, *arguments)
    (tmp_path / "out.en.partial").unlink()
    anew = command("translate", *arguments, "--alpha", "0.5")
    assert anew.code == 0, anew.err
    assert left_over(tmp_path) == []
    assert out.read_text(encoding="utf-8").count("\n") == len(LINES)


def test_draws_go_on_too(command, small_run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--sample", "--seed", "5", "--max-length", "3"]
    stopped_half_way(command, monkeypatch, small_run, "-i", text, "-o", tmp_path / "out", *options)
    assert command("translate", small_run, "-i", text, "-o", tmp_path / "out", *options).code == 0
    whole = command("translate", small_run, "-i", text, *options).out
    assert (tmp_path / "out").read_text(encoding="utf-8") == whole
    assert len(set(whole.splitlines()[512:])) > 100


def test_what_is_said_of_a_line_has_its_number(command, small_run, expected: str) -> None:
    lines, asking = list(LINES), (3, 300, 301, 899)  # in three windows, and of different lengths
    for number in asking:
        lines[number] += "\t" + "student " * 50
    result = command("translate", small_run, *OPTIONS, "--with-phrases", stdin="\n".join(lines))
    said = [line.split(": its translation")[0] for line in result.err.splitlines()]
    assert said == [f"regard: warning: line {number + 1}" for number in asking]
    assert result.out == expected


def test_a_damaged_note_is_not_guessed_at(
    command, small_run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [small_run, "-i", text, "-o", tmp_path / "out", *OPTIONS]
    stopped_half_way(command, monkeypatch, *arguments)
    note = tmp_path / "out.partial.json"
    content = note.read_text(encoding="utf-8")
    for damage in (
        "",
        "{",
        "[]",
        content.replace('"bytes"', '"byte"'),
        json.dumps({**json.loads(content), "bytes": 10**9}),
    ):
        note.write_text(damage, encoding="utf-8")
        assert "out.partial.json" in complaint(command("translate", *arguments))
        assert (tmp_path / "out.partial").stat().st_size > 0


def test_a_killed_command_is_gone_on_with(small_run, text: Path, expected: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard.cli.main", "translate", str(small_run), "-i", str(text), "-o", "out"]
    note = tmp_path / "out.partial.json"
    running = subprocess.Popen([*command, *OPTIONS], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not note.exists() and running.poll() is None:
        time.sleep(0.002)
    running.kill()
    was_killed = running.wait() == -signal.SIGKILL  # it may have been done before
    again = subprocess.run([*command, *OPTIONS], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not was_killed or "going on after line" in again.stderr
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected


def test_only_one_process_writes_a_file(command, small_run, text: Path, tmp_path: Path) -> None:
    from regard.cli.resumable import resumable

    with resumable(tmp_path / "out", {}):
        assert "another process" in complaint(command("translate", small_run, "-i", text, "-o", tmp_path / "out"))


@pytest.mark.parametrize("ended", ["finish", "abandon"])
def test_a_file_that_another_process_ends_while_it_is_opened_is_left_alone(
    ended: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.cli.resumable import ResumableFile

    path, flock = tmp_path / "out", fcntl.flock
    first = ResumableFile(path, {})
    if ended == "finish":
        first.append("done\n", 1, "digest")

    def late(file: object, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        getattr(first, ended)()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    second = ResumableFile(path, {})
    second.resume()
    assert (path.read_text(encoding="utf-8") if path.exists() else "") == ("done\n" if ended == "finish" else "")
    second.append("again\n", 1, "digest")
    second.finish()
    assert path.read_text(encoding="utf-8") == "again\n"


def test_lines_that_are_not_utf8_are_empty_and_the_others_come_out(command, small_run, tmp_path: Path) -> None:
    raw = b"je dors\n\xff\xfe\x00\nil dort\nd\xe9j\xe0\nje dors"
    result = command("translate", small_run, *OPTIONS, stdin=raw)
    line = complaint(result)
    assert "stdin:2" in line
    assert "here 2" in line
    first, second, third, fourth, fifth = result.out.splitlines()
    assert (second, fourth) == ("", "")
    assert first == fifth != ""
    assert third
    (tmp_path / "in").write_bytes(raw)
    complaint(command("translate", small_run, *OPTIONS, "-i", tmp_path / "in", "-o", tmp_path / "out"))
    assert (tmp_path / "out").read_text(encoding="utf-8") == result.out
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("engine", ["torch", "ct2"])
def test_a_line_of_50_000_words(command, small_run, engine: str) -> None:
    lines = ["je dors", "chat " * 50_000, "je dors"]
    result = command("translate", small_run, *OPTIONS, "--engine", engine, stdin="\n".join(lines))
    assert result.code == 0
    assert result.out.count("\n") == 3
    assert result.err.count("\n") == 1
    assert "line 2 is longer than 1024 tokens" in result.err
    assert result.out.splitlines()[0] == result.out.splitlines()[2]


def test_what_ct2_cannot_do_is_told_before_anything_is_read(command, small_run) -> None:
    line = complaint(command("translate", small_run, "--engine", "ct2", "--sample"))
    assert "sample" in line
    assert "torch" in line
    assert "engine = 'fast'" in complaint(command("translate", small_run, "--engine", "fast"))
    assert "int4" in complaint(command("translate", small_run, "--precision", "int4"))
    assert "cuda" in complaint(command("translate", small_run, "--engine", "ct2", "--device", "cuda"))
    assert "prefixes" in complaint(command("translate", small_run, "--engine", "ct2", "--with-prefix"))
    for flags in (["--engine", "ct2"], ["--engine", "fast"], ["--precision", "int8"]):
        line = complaint(command("translate", small_run, "--ensemble", small_run, *flags))
        assert " ".join(flags) in line
        assert "ensemble" in line


def test_an_ensemble_is_gone_on_with(
    command, small_run, text: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["-i", text, "-o", tmp_path / "out", *OPTIONS]
    stopped_half_way(command, monkeypatch, small_run, "--ensemble", small_run, *arguments)
    assert "models" in complaint(command("translate", small_run, *arguments))
    assert command("translate", small_run, "--ensemble", small_run, *arguments).code == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected


def test_int8_and_evaluation_by_either_engine(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "fr").write_text("je suis étudiant\nil dort\n", encoding="utf-8")
    (tmp_path / "en").write_text("I am a student\nhe sleeps\n", encoding="utf-8")
    files = ["--src", tmp_path / "fr", "--ref", tmp_path / "en", "--json"]
    values = [json.loads(command("evaluate", small_run, *files, "--engine", engine).out) for engine in ("torch", "ct2")]
    perplexities = [value.pop("perplexity") for value in values]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=1e-4)  # each engine scores by itself
    assert values[0] == values[1]
    result = command("translate", small_run, *OPTIONS, "--engine", "ct2", "--precision", "int8", stdin="je dors\n")
    assert (result.code, result.out.count("\n")) == (0, 1)


def test_elsewhere_there_is_no_bar(small_run, text: Path) -> None:
    command = [sys.executable, "-m", "regard.cli.main", "translate", str(small_run), "-i", str(text), *OPTIONS]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_a_partial_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out.partial")
    with (
        pytest.raises(DiskError, match=r"out\.partial: a named pipe, .*; delete it, or choose another -o"),
        resumable(tmp_path / "out", {}),
    ):
        pass


def test_every_line_that_a_time_limit_cuts_is_named(command, small_run) -> None:
    """Samples of a window are one call of several batches: those that had not begun are empty, and said to be."""
    lines = "le chat dort et la pomme est rouge et je suis là\n" * 250
    result = command("translate", small_run, "--sample", "--min-length", 3, "--time-limit", "1e-9", stdin=lines)
    assert result.code == 0, result.err
    answers = result.out.split("\n")[:-1]
    assert len(answers) == 250
    told = [line for line in result.err.splitlines() if "--time-limit" in line]
    assert told == [
        f"regard: warning: line {number}: --time-limit 1e-09 ended its search"
        + ("" if answer else "; its translation is empty")
        for number, answer in enumerate(answers, 1)
    ]
    assert 50 < answers.count("") < 250

"""What a person sees: results and typing are never overwritten, and every long wait says what is being done."""

import threading
from pathlib import Path

import pytest

from cli.conftest import SMALL
from cli.terminal import Screen, on_terminal, without_colours
from regard.activity import Activity, activity, watched_by

OPTIONS = ["--beam", "1", "--max-length", "6"]
LINES = ["je suis étudiant", "le chat dort"]


@pytest.fixture(scope="session")
def classifier(command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("labels")
    (home / "data.tsv").write_text("".join(f"{line}\t{line[0]}\n" for line in LINES * 20), encoding="utf-8")
    changes = ("--set", "model.kind=bag", "--set", "text.kind=char", "--set", "train.max_epochs=1")
    result = command("train", "--task", "classify", "--data", home / "data.tsv", "--out", home / "run", *changes)
    assert result.code == 0, result.err
    return home / "run"


def test_the_screen_of_the_test_itself() -> None:
    written = "a bar\r\x1b[2Kanswer\r\n\x1b[1mbar\x1b[0m 0 %\r\n\x1b[1A\x1b[2K\r\nab\x1b[2Dc\b!\r\n"
    assert Screen(written).shown == ["answer", "", "ab!"]
    assert Screen("translating 0 %\rI am").shown == ["I amslating 0 %"]


@pytest.mark.parametrize("verb", ["translate", "classify"])
def test_answers_on_the_terminal_are_all_there_is(command, small_run, classifier, verb: str) -> None:
    model, options = (small_run, OPTIONS) if verb == "translate" else (classifier, [])
    text = "".join(f"{line}\n" for line in LINES)
    expected = command(verb, model, *options, stdin=text).out
    code, written = on_terminal(verb, model, *options, stdin=text.encode())
    assert (code, Screen(written).shown) == (0, expected.splitlines())


@pytest.mark.parametrize("verb", ["translate", "classify"])
def test_typing_is_not_overwritten(command, small_run, classifier, verb: str) -> None:
    """The terminal echoes what is typed; there is no bar at all."""
    model, options = (small_run, OPTIONS) if verb == "translate" else (classifier, [])
    text = "".join(f"{line}\n" for line in LINES)
    expected = command(verb, model, *options, stdin=text).out
    code, written = on_terminal(verb, model, *options, typed=text.encode() + b"\x04")
    assert code == 0
    hint = "type a line and press Enter; Ctrl-D ends"
    assert sorted(Screen(written).shown) == sorted([*LINES, *expected.splitlines(), hint])
    assert "━" not in written
    assert "\x1b" not in written


def test_a_bar_where_results_go_to_a_file(command, small_run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES * 200), encoding="utf-8")
    expected = command("translate", small_run, *OPTIONS, "-i", tmp_path / "in").out
    for flags, output in (((), tmp_path / "out"), (("-o", tmp_path / "out2"), None)):
        code, written = on_terminal("translate", small_run, *OPTIONS, "-i", tmp_path / "in", *flags, output=output)
        assert code == 0
        assert "translating ━" in without_colours(written)
        assert "lines/s" in written
        assert "left" in written
        assert Screen(written).shown == [""]
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected
    assert (tmp_path / "out2").read_text(encoding="utf-8") == expected


def test_warnings_stand_above_the_bar(small_run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("chat " * 2000 + "\nje dors\n", encoding="utf-8")
    code, written = on_terminal("translate", small_run, *OPTIONS, "-i", tmp_path / "in", output=tmp_path / "out")
    assert code == 0
    [line] = Screen(written).shown
    assert line.startswith("regard: warning: line 1 is longer than 1024 tokens")


WAITS = {
    "evaluate": ["beam 5: translating ━", "converting the model", "of 2 sentences", "scoring ━"],
    "align": ["loading the model", "aligning ━"],
    "explain": ["explaining: greedy, beam and exact search ━", "explaining: occlusion", "integrated gradients"],
    "report": ["writing the report ━"],
}


@pytest.mark.parametrize("verb", WAITS)
def test_every_wait_says_what_is_done(command, small_run, tmp_path: Path, verb: str) -> None:
    (tmp_path / "fr").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    (tmp_path / "en").write_text("I am a student\nthe cat sleeps\n", encoding="utf-8")
    sides = ["--src", tmp_path / "fr"]
    arguments = {
        "evaluate": [*sides, "--ref", tmp_path / "en"],
        "align": [*sides, "--tgt", tmp_path / "en"],
        "explain": ["le chat dort"],
        "report": [],
    }[verb]
    code, written = on_terminal(verb, small_run, *arguments)
    assert code == 0
    for words in WAITS[verb]:
        assert words in without_colours(written)
    assert Screen(written).shown == command(verb, small_run, *arguments).out.splitlines()  # the bar is gone
    assert written.endswith("\x1b[?25h") or "\x1b[?25l" not in written.rpartition("\x1b[?25h")[2]


def test_a_training_tells_of_validation_and_of_the_end(tmp_path: Path) -> None:
    code, written = on_terminal("train", "--out", tmp_path / "run", *SMALL)
    assert code == 0, written
    for words in ("training ━", "training: validating: translating ━", "final evaluation: beam 5: translating ━"):
        assert words in without_colours(written)
    assert "writing the report" in written
    shown = Screen(written).shown
    assert [line for line in shown if line.startswith("step ")] == [
        line for line in shown if " by greedy search" in line and "validation loss" in line
    ]
    assert "evaluating the best checkpoint .." in shown
    assert shown[-2].startswith("test set, ")
    assert ", beam 5: BLEU" in shown[-2]
    assert not any("━" in line for line in shown)


def test_activities_nest_and_are_of_one_thread() -> None:
    seen: list[tuple[str, float | None] | None] = []

    def watch(current: Activity | None) -> None:
        seen.append(None if current is None else (current.doing, current.fraction))

    def elsewhere() -> None:
        with activity("in another thread"):
            pass

    with watched_by(watch):
        with activity("outer"):
            with activity("inner", 4, "things") as inner:
                inner.advance(3)
                inner.advance(3)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        with pytest.raises(ValueError, match="broken"), activity("fails"):
            raise ValueError("broken")
    with activity("unwatched"):
        pass
    assert seen == [
        *(("outer", None), ("inner", 0.0), ("inner", 0.75), ("inner", 1.0), ("outer", None), None),
        *(("fails", None), None),
    ]

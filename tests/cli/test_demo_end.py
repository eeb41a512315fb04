"""What `regard demo` ends with: translations, what the model knows, and commands that work as they stand."""

import os
import re
import shlex
from pathlib import Path

import pytest

from cli.conftest import SMALL, Result
from regard.cli.demo import COMMANDS, DEMO, SENTENCES
from regard.data.pocket.corpus import pocket_split, vocabulary


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo end")  # a space in its name: the commands must quote it


@pytest.fixture(scope="module")
def ended(command, home: Path) -> Result:
    """A tiny demo, to its end."""
    os.environ["REGARD_CACHE"], before = str(home / "cache"), os.environ.get("REGARD_CACHE")
    try:
        result = command("demo", "--out", home / "run", *SMALL)
    finally:
        os.environ.pop("REGARD_CACHE")
        if before is not None:
            os.environ["REGARD_CACHE"] = before
    assert result.code == 0, result.err
    return result


def test_it_translates_sentences_of_both_ways_of_writing(ended: Result) -> None:
    assert [line.partition(" -> ")[0] for line in ended.out.splitlines()] == list(SENTENCES)
    assert {sentence[0].isupper() for sentence in SENTENCES} == {True, False}


def test_it_counts_the_words_of_its_own_corpus(ended: Result) -> None:
    pairs = pocket_split(60, 0, 0).train
    french, english = (
        {word for text in texts for word in re.split(r"[ .,?!'-]+", text.lower()) if word}
        for texts in ([pair.french for pair in pairs], [pair.english for pair in pairs])
    )
    assert f"it knows {len(french)} French and {len(english)} English words" in ended.err
    assert "from 60 everyday sentences; French to English only" in ended.err
    assert "does not know any other word" in ended.err


def test_its_commands_work_as_they_stand(ended: Result, command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ended.err[ended.err.index("try:") :].splitlines()[1:]
    assert len(lines) == len(COMMANDS)
    for line in lines:
        left, _, right = line.rpartition(" | ")
        _, *words = shlex.split(right)
        result = command(*words, stdin=shlex.split(left)[1] + "\n" if left else "")
        assert result.code == 0, (line, result.err)
        assert result.out, line


def test_its_sentences_are_of_words_that_it_knows() -> None:
    known = vocabulary(pair.french for pair in pocket_split(40_000, 0, 0).train)
    asked = [text for command in COMMANDS for text in re.findall('"(.*?)"', command)]
    assert len(asked) == len(COMMANDS)
    assert vocabulary([*SENTENCES, *asked]) <= known


def test_it_is_bounded_by_steps_and_the_clock_is_a_last_resort() -> None:
    limits = DEMO["train"]
    assert limits["max_steps"] * 2 < 60 * limits["minutes"]  # two seconds for a step: it takes a tenth of one

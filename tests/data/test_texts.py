"""Text for language models: every token once an epoch, contexts that begin with the start token, and the last tenth held out."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from regard.data.config import TextData
from regard.data.examples import ContextExamples
from regard.data.prepare_texts import TINY, PreparedTexts, prepare_texts
from regard.data.texts import TextCorpus, write_texts
from regard.errors import ConfigError, DataError, TextError
from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.lines import decode_lines, newline_of
from regard.text.tokenizer import Tokenizer

CHAR = TextConfig(kind="char")
LINES = [f"{'abcdefgh'[: 1 + n % 8]} {n}" if n % 5 else "" for n in range(60)]


@pytest.fixture
def tokenizer() -> Tokenizer:
    return learn(CHAR, LINES)


def prepared(home: Path, lines: list[str], **options: str) -> PreparedTexts:
    (home / "text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return prepare_texts(TextData.parse({"text": str(home / "text.txt"), **options}), CHAR, home / "cache")


@pytest.mark.parametrize("documents", ["file", "line"])
def test_every_token_is_in_one_context(tmp_path: Path, tokenizer: Tokenizer, documents: str) -> None:
    write_texts(tmp_path, LINES, tokenizer, documents)  # type: ignore[arg-type]
    corpus, pad = TextCorpus(tmp_path), tokenizer.vocabulary.pad
    for moving in (True, False):
        contexts = ContextExamples(corpus, pad, 7, moving=moving)
        planned = []
        for epoch in range(3):
            seen: list[tuple[int, list[int]]] = []
            for numbers in contexts.plan(40, 1, epoch):
                batch = contexts.batch(numbers, 1, epoch, readings=2)
                assert batch.source.shape == (2 * len(numbers), 0)
                assert batch.target_in.numel() <= 40
                assert (batch.target_in[:, 0] == pad).all()
                assert (batch.target_in[:, 1:] == batch.target_out[:, :-1]).all()
                assert int((batch.target_out != pad).sum()) == batch.tokens
                for number, row in zip(numbers.tolist(), batch.target_out.tolist(), strict=True):
                    seen.append((number, [token for token in row if token != pad]))
            assert [token for _, row in sorted(seen) for token in row] == corpus.ids.tolist()
            planned.append(sorted(row for _, row in seen))
        assert (planned[0] != planned[1]) == moving


def test_workers_share_a_batch(tmp_path: Path, tokenizer: Tokenizer) -> None:
    write_texts(tmp_path, LINES, tokenizer, "file")
    contexts = ContextExamples(TextCorpus(tmp_path), tokenizer.vocabulary.pad, 7, moving=True)
    batch = contexts.plan(70, 1, 2)[0]
    parts = contexts.split(batch, 2, 1, 2)
    assert np.concatenate(parts).tolist() == batch.tolist()
    assert abs(len(parts[0]) - len(parts[1])) <= 1


def test_counts_and_marks(tmp_path: Path, tokenizer: Tokenizer) -> None:
    lines = ["ab  cd", "", "e"]
    file = write_texts(tmp_path / "file", lines, tokenizer, "file")
    assert (file.lines, file.empty, file.words, file.bytes, file.tokens) == (3, 0, 3, 9, 9)
    ids = TextCorpus(tmp_path / "file").ids
    assert decode_lines(tokenizer, ids.tolist()) == "ab cd\n\ne\n"
    assert ids[-1] == newline_of(tokenizer.vocabulary)
    line = write_texts(tmp_path / "line", lines, tokenizer, "line")
    assert (line.lines, line.empty, line.words, line.bytes, line.tokens) == (3, 1, 3, 8, 8)
    corpus = TextCorpus(tmp_path / "line")
    assert corpus.offsets.tolist() == [0, 6, 8]
    assert corpus.ids[[5, 7]].tolist() == [0, 0]


def test_the_last_tenth_is_held_out(tmp_path: Path) -> None:
    found = prepared(tmp_path, [f"line {n:03d}" for n in range(100)])
    tokenizer = found.tokenizers.target
    assert found.held_out
    assert decode_lines(tokenizer, found.valid.ids.tolist()).split("\n")[:-1] == [
        f"line {n:03d}" for n in range(90, 100)
    ]
    assert found.train.counts.lines == 90


def test_files_of_its_own_and_packed(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "valid.gz", "wt", encoding="utf-8") as file:
        file.write("abc\r\nd\n")
    options = {"valid_text": str(tmp_path / "valid.gz"), "test_text": str(tmp_path / "valid.gz")}
    found = prepared(tmp_path, LINES, **options)
    assert not found.held_out
    assert found.test is not None
    assert decode_lines(found.tokenizers.target, found.test.ids.tolist()) == "abc\nd\n"
    again = prepared(tmp_path, LINES, **options)
    assert again.key == found.key
    assert prepared(tmp_path, [*LINES, "more"], **options).key != found.key


@pytest.mark.parametrize("lines", [[], ["", "  "]])
def test_an_empty_file(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(DataError, match=r"text\.txt: no text in it"):
        prepared(tmp_path, lines)


def test_too_little_to_hold_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="only one line of text"):
        prepared(tmp_path, ["one " * TINY])
    (tmp_path / "valid").write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="valid: no text in it"):
        prepared(tmp_path, ["one", "two"], valid_text=str(tmp_path / "valid"))
    two = prepared(tmp_path, ["", "one " * TINY, "", "two", ""])
    assert (two.held_out, two.tiny, two.valid.counts.words) == (True, False, 1)


def test_of_a_tiny_text_nothing_is_held_out(tmp_path: Path) -> None:
    for lines in (["one"], ["", "one", "", "two", ""], ["a" * (TINY - 2)]):
        found = prepared(tmp_path, lines)
        assert (found.tiny, found.held_out) == (True, False)
        assert found.train.ids.tolist() == found.valid.ids.tolist()
        assert found.train.counts.lines == len(lines)
    assert not prepared(tmp_path, ["a" * (TINY - 10), "123456789"]).tiny, "500 characters with their line ends"
    (tmp_path / "valid").write_text("other\n", encoding="utf-8")
    own = prepared(tmp_path, ["one"], valid_text=str(tmp_path / "valid"))
    assert (own.tiny, own.held_out) == (False, False)


def test_a_damaged_corpus_is_named(tmp_path: Path, tokenizer: Tokenizer) -> None:
    write_texts(tmp_path, LINES, tokenizer, "file")
    (tmp_path / "ids").write_bytes(b"short")
    with pytest.raises(DataError, match="damaged"):
        TextCorpus(tmp_path)


def test_standard_input_is_read_once() -> None:
    with pytest.raises(ConfigError, match="only once"):
        TextData.parse({"text": "-", "valid_text": "-"})


def test_text_that_no_tokeniser_can_learn(tmp_path: Path) -> None:
    with pytest.raises((DataError, TextError), match="no text"):
        prepared(tmp_path, ["\u0001", "\u0002"])

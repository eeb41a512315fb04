"""Texts of several lines come back as they were, whatever the tokeniser."""

import pytest

from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.lines import decode_lines, encode_lines, newline_of

TEXT = "First Citizen:\nBefore we proceed any further,\n\nhear me speak. Ünïcode 🙂\n"


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n"), "", "\n", "\n\nx"])
def test_lines_come_back(kind: str, text: str) -> None:
    tokenizer = learn(TextConfig.parse({"kind": kind, "vocabulary": 300}), TEXT.split("\n") * 3)
    ids = encode_lines(tokenizer, text)
    assert decode_lines(tokenizer, ids) == text
    assert ids.count(newline_of(tokenizer.vocabulary)) == text.count("\n")

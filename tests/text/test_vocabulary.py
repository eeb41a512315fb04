import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import TextError
from regard.text.normalise import SPACE_MARK, tidy
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

PIECES = ["</s>", "<unk>", *BYTE_PIECES, "▁", "▁low", "er", "▁new", "est", "é", "<pad>"]
VOCABULARY = Vocabulary(PIECES)


def ids(*pieces: str) -> list[int]:
    return [VOCABULARY.id_of(piece) for piece in pieces]


def test_the_fixed_ids():
    assert (Vocabulary.EOS, Vocabulary.UNK, VOCABULARY.pad, len(VOCABULARY)) == (0, 1, 264, 265)
    assert [VOCABULARY.piece(index) for index in (0, 1, 2, 264)] == ["</s>", "<unk>", "<0x00>", "<pad>"]
    assert all(VOCABULARY.id_of(piece) == index for index, piece in enumerate(VOCABULARY.pieces))


def test_bad_pieces_and_ids_are_refused():
    with pytest.raises(TextError, match="'er' is twice"):
        Vocabulary([*PIECES[:-1], "er", "<pad>"])
    with pytest.raises(TextError, match="ends with <pad>"):
        Vocabulary(PIECES[:-1])
    with pytest.raises(TextError, match="starts with </s>"):
        Vocabulary(["<pad>"])
    for bad in (-1, 265):
        with pytest.raises(IndexError):
            VOCABULARY.piece(bad)
        with pytest.raises(IndexError):
            VOCABULARY.text([2, bad])
    with pytest.raises(KeyError):
        VOCABULARY.id_of("unheard")


@pytest.mark.parametrize(
    ("pieces", "text", "words"),
    [
        ([], "", []),
        (["</s>", "<pad>"], "", [0, 0]),
        (["▁low", "er", "▁new", "est", "</s>", "<pad>"], "lower newest", [0, 0, 1, 1, 1, 1]),
        (["▁low", "<0x0A>", "er"], "low er", [0, 1, 1]),  # a line break is a space
        (["▁low", "<0x00>", "er"], "lower", [0, 0, 0]),  # a control character is nothing
        (["▁low", "<0xC3>", "<0xA9>", "▁", "é"], "lowé é", [0, 0, 0, 1, 1]),
        (["▁low", "<0xC3>", "▁new"], "low\ufffd new", [0, 0, 1]),  # half a character
        (["<0xE3>", "<0x80>", "<0x80>", "er"], "er", [0, 0, 0, 0]),  # an ideographic space in bytes
        (["<0xE2>", "<0x96>", "<0x81>", "er", "▁low"], "er low", [0, 0, 0, 0, 1]),  # the space mark in bytes
        (["▁", "▁", "▁low", "▁", "▁"], "low", [0, 0, 0, 0, 0]),
        (["▁low", "<unk>", "▁new"], "low\ufffd new", [0, 0, 1]),
    ],
)
def test_reading_by_hand(pieces, text, words):
    assert VOCABULARY.text(ids(*pieces)) == text
    assert VOCABULARY.words(ids(*pieces)) == words


BYTES_OF_SPACES = st.sampled_from(
    [2 + byte for byte in (0x00, 0x09, 0x0A, 0x20, 0x80, 0x81, 0xC2, 0xE2, 0x96, 0xE3, 0xF0)]
)


@given(st.lists(st.integers(0, len(PIECES) - 1) | st.integers(258, 264) | BYTES_OF_SPACES, max_size=30))
def test_the_ids_of_a_word_spell_that_word(row):
    text, owners = VOCABULARY.text(row), VOCABULARY.words(row)
    assert len(owners) == len(row)
    assert owners == sorted(owners)
    spelled = [
        VOCABULARY.text([index for index, owner in zip(row, owners, strict=True) if owner == word])
        for word in range(len(text.split(" ")))
    ]
    assert spelled == text.split(" ")


@given(st.binary(max_size=20))
def test_bytes_read_as_python_reads_them(data):
    shown = data.decode("utf-8", "replace").replace("▁", " ")
    row = [2 + byte for byte in data]
    assert VOCABULARY.text(row) == " ".join(
        "".join(c for c in shown if c.isspace() or c.isprintable() or ord(c) > 0x9F).replace("\ufeff", "").split()
    )


def test_printable_text_needs_no_repair() -> None:
    """The short way for printable text gives what the long way gives."""
    pieces = [
        END,
        UNKNOWN,
        *BYTE_PIECES,
        "▁",
        "▁a",
        "é",
        "\u00a0",
        "\u2028",
        "\ufeff",
        "a\u0301",
        "中",
        "\u200d",
        "🙂",
        PAD,
    ]
    vocabulary = Vocabulary(pieces)
    generator = random.Random(3)
    for _ in range(2000):
        ids = generator.choices(
            [*range(258, len(pieces)), 0, 1, 67, 0xC3 + 2, 0xA9 + 2, 9 + 2], k=generator.randrange(8)
        )
        joined = vocabulary._joined(ids).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert vocabulary.text(ids) == tidy(joined.replace(SPACE_MARK, " "))

"""Byte-level BPE and WordPiece beside the library `tokenizers`, on texts of every script, and what is refused."""

import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.engine.input_length import TruncationWarning
from regard.errors import TextError
from regard.tasks.translate.reading import Reader
from regard.text.build import TokenizerPair, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.byte_bpe import SIGNS, ByteBpeRecord, ByteBpeTokenizer
from regard.text.lines import decode_lines, encode_lines, newline_of
from regard.text.marked import MarksRecord, marked, marks_of, shortened, unmarked
from regard.text.merges import merged
from regard.text.unicode_classes import SPACES
from regard.text.wordpiece import WordPieceRecord, WordPieceTokenizer

tokenizers = pytest.importorskip("tokenizers")

WORDS = [
    "the",
    "'s",
    "'ll",
    " ",
    "  ",
    "\n",
    "\n\n",
    "don't",
    "The ",
    "chat",
    "caf\u00e9",
    "cafe\u0301",
    "x1",
    "42",
    "...",
]
SIGN_POOLS = [
    range(0x20, 0x7F),
    range(0xA0, 0x250),
    range(0x300, 0x370),
    range(0x370, 0x500),
    range(0x590, 0x700),
    range(0x900, 0x980),
    range(0x3040, 0x3100),
    range(0x4E00, 0x4F00),
    range(0x1F300, 0x1F650),
    [*range(0x20), 0x7F, *map(ord, sorted(SPACES)), 0x1C, 0x1F, 0x200B, 0x200D, 0xFE0F, 0xFEFF, 0xFFFD, 0x2581, 0x120],
]


def strings(count: int, seed: int) -> list[str]:
    """Texts of words, of signs of every script, and of any code point at all."""
    draw = random.Random(seed)

    def sign() -> str:
        kind = draw.random()
        if kind < 0.25:
            return draw.choice(WORDS)
        if kind < 0.33:
            code = draw.randrange(0x110000 - 0x800)
            return chr(code if code < 0xD800 else code + 0x800)
        return chr(draw.choice(draw.choice(SIGN_POOLS)))

    return ["".join(sign() for _ in range(draw.randrange(30))) for _ in range(count)]


CORPUS = [*strings(400, 7), *["the cat don't stop, caf\u00e9 42 naïve 中文 привет 🙂"] * 20]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "prefix space"])
def byte_bpe(request: pytest.FixtureRequest) -> tuple[Any, ByteBpeTokenizer]:
    theirs = tokenizers.ByteLevelBPETokenizer(add_prefix_space=request.param)
    theirs.train_from_iterator(
        CORPUS, vocab_size=800, min_frequency=1, special_tokens=["</s>", "<unk>"], show_progress=False
    )
    model = json.loads(theirs.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    merges = tuple(merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"])
    silent = ("</s>", "<unk>", "<pad>")
    record = ByteBpeRecord(pieces=(*pieces, "<pad>"), silent=silent, merges=merges, prefix_space=request.param)
    return theirs, ByteBpeTokenizer(record)


def test_byte_level_bpe_equals_tokenizers_on_ten_thousand_texts(byte_bpe: tuple[Any, ByteBpeTokenizer]) -> None:
    theirs, ours = byte_bpe
    texts = strings(10_000, 1)
    assert ours.encode_batch(texts) == [encoding.ids for encoding in theirs.encode_batch(texts)]
    for text in texts[:2000]:
        ids = ours.encode(text)
        exact = ours.decode_lines(ids)
        assert exact in (text, f" {text}")
        assert ours.decode(ids) == ours.normalise(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_byte_level_bpe_loses_nothing(text: str) -> None:
    pieces = ("<end>", "!", *[sign for sign in SIGNS if sign != "!"], "Ġa", "ab", "<pad>")
    ours = ByteBpeTokenizer(ByteBpeRecord(pieces=pieces, silent=("<end>", "<pad>"), merges=("Ġ a", "a b")))
    assert ours.decode_lines(ours.encode(text)) == text
    assert len(ours.words(ours.encode(text))) == len(ours.encode(text))


@pytest.fixture(scope="module", params=[(True, None), (False, False), (True, False), (False, True)], ids=str)
def word_pieces(request: pytest.FixtureRequest) -> tuple[Any, WordPieceTokenizer]:
    lowercase, accents = request.param
    theirs = tokenizers.BertWordPieceTokenizer(lowercase=lowercase, strip_accents=accents)
    theirs.train_from_iterator(CORPUS, vocab_size=900, min_frequency=1, show_progress=False)
    names = sorted(theirs.get_vocab(), key=theirs.get_vocab().get)
    marks = ["[SEP]", "[UNK]"]
    pieces = (*marks, *(name for name in names if name not in marks), "<pad>")
    silent = ("[SEP]", "[CLS]", "[PAD]", "[MASK]", "<pad>")
    strip = lowercase if accents is None else accents
    rules = WordPieceRecord(pieces=pieces, silent=silent, lowercase=lowercase, strip_accents=strip)
    return theirs, WordPieceTokenizer(rules)


def test_word_piece_equals_tokenizers_on_ten_thousand_texts(word_pieces: tuple[Any, WordPieceTokenizer]) -> None:
    theirs, ours = word_pieces
    texts = strings(10_000, 2)
    expected = [encoding.tokens for encoding in theirs.encode_batch(texts, add_special_tokens=False)]
    assert [[ours.vocabulary.piece(index) for index in ids] for ids in ours.encode_batch(texts)] == expected


def test_word_piece_joins_the_parts_of_a_word() -> None:
    pieces = ("[SEP]", "[UNK]", "play", "##ing", "##ed", ",", "cafe", "<pad>")
    ours = WordPieceTokenizer(WordPieceRecord(pieces=pieces, silent=("[SEP]", "<pad>")))
    ids = ours.encode("Playing,  played CAFÉ plays")
    assert ids == [2, 3, 5, 2, 4, 6, 1]
    assert ours.decode(ids) == "playing , played cafe [UNK]"
    assert ours.words(ids) == [0, 0, 1, 2, 2, 3, 4]
    assert ours.normalise("Playing,  CAFÉ\x00") == "playing , cafe"
    assert ours.encode("play" * 26) == [1], "a word of more than 100 characters is unknown"


def test_a_word_of_a_million_letters_is_merged_in_its_order() -> None:
    """A table that merges from the right end would take the square of the length without a heap."""
    size = 200_000
    assert merged([1] * size, {(1, 1): (0, 2), (2, 2): (1, 3)}) == [3] * (size // 4)


@pytest.mark.parametrize(
    ("symbols", "merges", "expected"),
    [
        ([], {}, []),
        ([1], {(1, 1): (0, 2)}, [1]),
        ([1, 1, 1], {(1, 1): (0, 2)}, [2, 1]),
        ([1, 2, 3], {(1, 2): (1, 4), (2, 3): (0, 5)}, [1, 5]),
        ([1, 2, 1, 2], {(1, 2): (0, 3), (3, 3): (1, 4)}, [4]),
        ([1, 2, 3, 4], {(1, 2): (2, 5), (3, 4): (1, 6), (5, 6): (0, 7)}, [7]),
    ],
)
def test_merges_are_done_by_rank_and_from_the_left(symbols: Any, merges: Any, expected: Any) -> None:
    assert merged(symbols, merges) == expected


def test_lines_are_kept_by_bytes_and_by_no_word_pieces(byte_bpe: tuple[Any, ByteBpeTokenizer]) -> None:
    ours = byte_bpe[1]
    text = " two\n\n lines\n"
    assert decode_lines(ours, encode_lines(ours, text)) == text
    assert ours.vocabulary.piece(newline_of(ours.vocabulary)) == "Ċ"
    other = WordPieceTokenizer(WordPieceRecord(pieces=("[SEP]", "[UNK]", "a", "<pad>")))
    with pytest.raises(TextError, match="no piece for a line break"):
        encode_lines(other, "a\na")


def test_tokenizers_come_back_as_they_were_saved(
    byte_bpe: tuple[Any, ByteBpeTokenizer], word_pieces: tuple[Any, WordPieceTokenizer], tmp_path: Any
) -> None:
    text = "The café's 42 naïve\tcats 🙂"
    bytes_marked = marked(byte_bpe[1], MarksRecord(begin=("</s>",), end=("Ġ",)))
    pairs = [
        TokenizerPair(byte_bpe[1], byte_bpe[1], joint=True),
        TokenizerPair(word_pieces[1], word_pieces[1], joint=True),
        TokenizerPair(byte_bpe[1], bytes_marked, joint=True),
    ]
    for number, pair in enumerate(pairs):
        place = tmp_path / str(number)
        place.mkdir()
        save_tokenizers(pair, place)
        loaded = load_tokenizers(place)
        assert tokenizers_fingerprint(loaded) == tokenizers_fingerprint(pair)
        for own, other in (
            (pair.source, loaded.source),
            (pair.target, loaded.target),
            (pair.target, pickle.loads(pickle.dumps(pair.target))),
        ):
            assert other.encode(text) == own.encode(text)
            assert other.decode(own.encode(text)) == own.decode(own.encode(text))
            assert marks_of(other) == marks_of(own)
    assert len({str(tokenizers_fingerprint(pair)) for pair in pairs}) == 3


def test_marks_stand_around_a_text_and_not_around_nothing(byte_bpe: tuple[Any, ByteBpeTokenizer]) -> None:
    inner = byte_bpe[1]
    ours = marked(inner, MarksRecord(begin=("<unk>",), end=("</s>",)))
    plain = inner.encode("the cat")
    assert ours.encode_batch(["the cat", ""]) == [[1, *plain, 0], inner.encode("")]
    assert ours.packer()(["the cat"]).ids.tolist() == [1, *plain, 0]
    assert ours.decode(ours.encode("the cat")) == inner.decode(plain)
    assert unmarked(ours) is inner
    assert marked(inner, MarksRecord()) is inner
    with pytest.raises(TextError, match="the mark 'de_DE' is no piece of the vocabulary"):
        marked(inner, MarksRecord(begin=("de_DE",)))


def test_a_text_that_is_cut_keeps_the_marks_behind_it(byte_bpe: tuple[Any, ByteBpeTokenizer]) -> None:
    inner = byte_bpe[1]
    ours = marked(inner, MarksRecord(begin=("<unk>",), end=("</s>",)))
    plain = inner.encode("the cat sat on the mat")
    long = ours.encode("the cat sat on the mat")
    assert shortened(ours, long, 4) == [1, *plain[:2], 0]
    assert shortened(ours, long, len(long)) == long
    assert shortened(ours, long, 1) == [0]
    assert shortened(inner, plain, 4) == plain[:4]
    pair = TokenizerPair(ours, inner, joint=True)
    with pytest.warns(TruncationWarning, match="1 source texts are longer than 4 tokens"):
        [source] = Reader(pair, 4).sources(["the cat sat on the mat"])
    assert source.ids == [1, *plain[:2], 0]


def test_a_merge_of_no_piece_is_refused() -> None:
    with pytest.raises(TextError, match=r"merge 2, 'b zz': no piece 'zz' in the vocabulary"):
        ByteBpeTokenizer(ByteBpeRecord(pieces=("<end>", "a", "b", "ab", "<pad>"), merges=("a b", "b zz")))

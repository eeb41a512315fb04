"""A corpus read back equals each line encoded by itself."""

import json
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import encoding
from regard.data.corpus import Corpus, Counts, write_corpus, write_numbered
from regard.errors import DataError
from regard.text.build import TokenizerPair, learn, learn_pair
from regard.text.config import TextConfig
from regard.text.packed import pack

PAIRS = [
    ("a red house", "ein rotes Haus"),
    ("", "leer"),
    ("two dogs", "zwei Hunde \u2028 hier"),
    ("only spaces follow", " \t "),
    ("x" * 41, "short"),
    ("short", "y" * 41),
    ("z" * 40, "exactly as long as may be"),
    ("", "x" * 100),
    ("emoji 😀", "日本"),
]


def tokenizers(**options):
    return learn_pair(TextConfig(**options), lambda: PAIRS)


@pytest.fixture(scope="module")
def char():
    return tokenizers(kind="char")


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("chunk", [1, 2, 20_000])
def test_every_kept_pair_reads_back_as_it_encodes(tmp_path, monkeypatch, kind, joint, chunk):
    monkeypatch.setattr(encoding, "CHUNK_PAIRS", chunk)
    pair = tokenizers(kind=kind, joint=joint, vocabulary=300)
    write_corpus(tmp_path, PAIRS, pair, max_length=40)
    corpus = Corpus.open(tmp_path)
    encoded = [(line, pair.source.encode(s), pair.target.encode(t)) for line, (s, t) in enumerate(PAIRS, 1)]
    kept = [example for example in encoded if all(0 < len(ids) <= 40 for ids in example[1:])]
    assert len(kept) >= 3
    assert [
        (int(corpus.lines[i]), corpus.source(i).tolist(), corpus.target(i).tolist()) for i in range(len(corpus))
    ] == kept
    assert corpus.source_lengths.tolist() == [len(source) for _, source, _ in kept]
    assert corpus.target_lengths.tolist() == [len(target) for _, _, target in kept]


def test_nothing_is_lost_uncounted(tmp_path, char):
    counts = write_corpus(tmp_path, PAIRS, char, max_length=40)
    assert counts == Counts(read=9, kept=4, too_long=2, empty=3)
    corpus = Corpus.open(tmp_path)
    assert corpus.counts == counts
    assert corpus.lines.tolist() == [1, 3, 7, 9]
    assert corpus.max_length == 40


def test_a_hundred_thousand_characters_are_too_long_and_no_obstacle(tmp_path, char):
    counts = write_corpus(tmp_path, [("a", "b"), ("é " * 50_000, "c"), ("d", "e")], char, max_length=256)
    assert counts == Counts(read=3, kept=2, too_long=1)


def test_long_lines_end_a_chunk_early(tmp_path, monkeypatch, char):
    monkeypatch.setattr(encoding, "CHUNK_CHARACTERS", 10)
    sizes = []

    class Spy:
        vocabulary = char.source.vocabulary

        def packer(self):
            packer = char.source.packer()
            return lambda texts: sizes.append(len(texts)) or packer(texts)

    lines = [("a", "b"), ("a" * 9, "b"), ("a", "b"), ("a", "b")]
    write_corpus(tmp_path, lines, TokenizerPair(Spy(), char.target, joint=False), 40)
    assert sizes == [2, 2]
    assert len(Corpus.open(tmp_path)) == 4


class NumberTokenizer:
    """Ids written out as numbers, with a vocabulary of any size."""

    def __init__(self, size):
        self.vocabulary = range(size)

    def packer(self):
        return lambda texts: pack([[int(word) for word in text.split()] for text in texts])


@pytest.mark.parametrize(("size", "width"), [(65_535, 2), (65_536, 4), (100_000, 4)])
def test_ids_take_two_bytes_while_they_fit(tmp_path, size, width):
    tokenizer = NumberTokenizer(size)
    write_corpus(tmp_path, [(f"{size - 1} 0", "1")], TokenizerPair(tokenizer, tokenizer, joint=True), 10)
    assert Corpus.open(tmp_path).source(0).tolist() == [size - 1, 0]
    assert (tmp_path / "source.ids").stat().st_size == 2 * width


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(*[st.lists(st.integers(0, 999), max_size=6)] * 2), max_size=30), chunk=st.integers(1, 9))
def test_any_numbers_survive(tmp_path_factory, rows, chunk):
    directory = tmp_path_factory.mktemp("corpus")
    tokenizer = NumberTokenizer(1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK_PAIRS", chunk)
        pairs = [(" ".join(map(str, s)), " ".join(map(str, t))) for s, t in rows]
        write_corpus(directory, pairs, TokenizerPair(tokenizer, tokenizer, joint=True), 5)
    corpus = Corpus.open(directory)
    found = [(corpus.source(i).tolist(), corpus.target(i).tolist()) for i in range(len(corpus))]
    assert found == [(s, t) for s, t in rows if 0 < len(s) <= 5 and 0 < len(t) <= 5]


def test_an_example_that_is_not_there_is_refused(tmp_path, char):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    corpus = Corpus.open(tmp_path)
    for example in (-1, len(corpus)):
        with pytest.raises(IndexError):
            corpus.source(example)


@pytest.mark.parametrize(
    ("kind", "joint"), [("bpe", True), ("bpe", False), ("unigram", True), ("word", True), ("char", False)]
)
def test_several_processes_write_the_same_bytes(tmp_path, monkeypatch, kind, joint):
    pair = tokenizers(kind=kind, joint=joint, vocabulary=300)
    pairs = [(source and f"{source} {number}", target) for number in range(30) for source, target in PAIRS]
    pairs += [("a " * number, "b") for number in range(10, 70)]
    write_numbered(tmp_path / "one", enumerate(pairs, 1), pair, 30, workers=1)
    monkeypatch.setattr(encoding, "CHUNK_PAIRS", 20)
    monkeypatch.setattr(encoding, "ALONE_PAIRS", 40)
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    counts = write_numbered(tmp_path / "several", enumerate(pairs, 1), pair, 30, workers=2)
    assert len(started) == 2
    assert min(counts.kept, counts.too_long, counts.empty) > 20
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "several").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "several" / name).read_bytes(), name


def test_several_examples_at_once_are_the_same_as_one_by_one(tmp_path, char):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    corpus = Corpus.open(tmp_path)
    examples = np.array([3, 0, 0, 2])
    for several, one in ((corpus.sources, corpus.source), (corpus.targets, corpus.target)):
        rows = several(examples)
        assert [row.tolist() for row in rows.rows()] == [one(example).tolist() for example in examples]
        assert rows.lengths.tolist() == [len(one(example)) for example in examples]
        assert several(examples[:0]).rows() == []
        for wrong in (-1, len(corpus)):
            with pytest.raises(IndexError):
                several(np.array([0, wrong]))


def test_the_arrays_cannot_be_written_to(tmp_path, char):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    with pytest.raises(ValueError, match="read-only"):
        Corpus.open(tmp_path).source(0)[0] = 1


FILES = ["lines", "source.ids", "source.offsets", "target.ids", "target.offsets", "corpus.json"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["truncate", "extend", "delete"])
def test_a_damaged_file_is_named(tmp_path, char, name, harm):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    path = tmp_path / name
    if harm == "delete":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[:-2] if harm == "truncate" else content + b"xx")
    with pytest.raises(DataError, match="damaged") as caught:
        Corpus.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_offsets_that_do_not_fit_the_ids_are_damage(tmp_path, char):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    path = tmp_path / "target.offsets"
    offsets = np.fromfile(path, dtype="<i8")
    offsets[-1] -= 1
    offsets.tofile(path)
    with pytest.raises(DataError, match=r"target\.offsets: missing or damaged"):
        Corpus.open(tmp_path)


def test_another_format_is_refused(tmp_path, char):
    write_corpus(tmp_path, PAIRS, char, max_length=40)
    path = tmp_path / "corpus.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(DataError, match="format 99, this version reads 1"):
        Corpus.open(tmp_path)


def test_ids_of_a_learned_tokeniser_decode_to_the_line(tmp_path):
    tokenizer = learn(TextConfig(vocabulary=300), [text for pair in PAIRS for text in pair])
    write_corpus(tmp_path, PAIRS, TokenizerPair(tokenizer, tokenizer, joint=True), max_length=100)
    corpus = Corpus.open(tmp_path)
    for i, line in enumerate(corpus.lines.tolist()):
        assert tokenizer.decode(corpus.source(i).tolist()) == tokenizer.normalise(PAIRS[line - 1][0])

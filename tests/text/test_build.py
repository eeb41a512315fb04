import json
from collections import Counter

import pytest

from regard.errors import TextError
from regard.text.build import (
    TokenizerPair,
    learn,
    learn_pair,
    load_tokenizers,
    sample,
    save_tokenizers,
    vocabulary_remarks,
)
from regard.text.config import TextConfig

KINDS = ("bpe", "unigram", "word", "char")
TEXT = "Zoë's 42 étudiants 日本 🙂"


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_pair_is_the_same_pair(tokenizers, tmp_path, kind, joint):
    pair = tokenizers[kind, joint]
    save_tokenizers(pair, tmp_path / "bundle")
    suffix = ".spm" if kind in ("bpe", "unigram") else ".vocab.json"
    names = ["joint"] if joint else ["source", "target"]
    assert {path.name for path in (tmp_path / "bundle").iterdir()} == {
        "tokenizer.json",
        *(name + suffix for name in names),
    }
    loaded = load_tokenizers(tmp_path / "bundle")
    assert loaded.joint == joint
    assert (loaded.source is loaded.target) == joint
    for side in ("source", "target"):
        before, after = getattr(pair, side), getattr(loaded, side)
        assert after.kind == kind
        assert after.vocabulary == before.vocabulary
        assert after.encode(TEXT) == before.encode(TEXT)
        assert after.files() == before.files()


@pytest.mark.parametrize("kind", KINDS)
def test_form_and_lowercase_are_stored(tmp_path, kind):
    tokenizer = learn(TextConfig(kind=kind, form="nfkc", lowercase=True), ["ﬁn ÉTÉ"])
    save_tokenizers(TokenizerPair(tokenizer, tokenizer, joint=True), tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text()) == {
        "format": 1,
        "kind": kind,
        "joint": True,
        "form": "nfkc",
        "lowercase": True,
    }
    loaded = load_tokenizers(tmp_path).source
    assert loaded.normalise("ﬁN ÉTÉ") == "fin été" == loaded.decode(loaded.encode("ﬁN ÉTÉ"))


def test_separate_vocabularies_hold_their_own_language(tokenizers):
    pair = tokenizers["word", False]
    assert "▁sailor" in pair.source.vocabulary
    assert "▁sailor" not in pair.target.vocabulary
    assert "▁marin" in pair.target.vocabulary
    assert {"▁sailor", "▁marin"} <= set(tokenizers["word", True].source.vocabulary.pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_learning_twice_gives_the_same_bytes(tokenizers, pairs, kind):
    again = learn_pair(TextConfig(kind=kind, joint=False, vocabulary=450), lambda: iter(pairs))
    assert again.source.files() == tokenizers[kind, False].source.files()
    assert again.target.files() == tokenizers[kind, False].target.files()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [[], ["", " \t ", "\u00a0"], ["\x00\x01"]])
def test_an_empty_corpus_is_told(kind, lines):
    with pytest.raises(TextError, match="the corpus has no text") as caught:
        learn(TextConfig(kind=kind), lines)
    assert "\n" not in str(caught.value)


def test_an_empty_side_is_named():
    half = [("something", ""), ("more", " ")]
    assert learn_pair(TextConfig(kind="word"), lambda: half).joint
    with pytest.raises(TextError, match="the target side of the corpus has no text"):
        learn_pair(TextConfig(kind="word", joint=False), lambda: half)


def test_a_sample_is_uniform_and_the_same_every_time():
    assert sample(range(10), 10) == list(range(10))
    assert sample(range(100_000), 50) == sample(iter(range(100_000)), 50)
    quarters = Counter(item // 250 for item in sample(range(1000), 500))
    assert sum(quarters.values()) == 500
    assert all(95 < quarters[quarter] < 155 for quarter in range(4))  # 125 each, standard deviation below 10
    assert len(set(sample(range(1000), 500))) == 500


def test_only_the_sample_is_learned_from():
    lines = [f"w{number}" for number in range(1000)]
    tokenizer = learn(TextConfig(kind="word", sample=10), iter(lines))
    assert len(tokenizer.vocabulary) == 10 + 256 + 4


def damage(directory, name, content):
    path = directory / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("kind", "name", "content", "message"),
    [
        ("bpe", "tokenizer.json", None, "cannot be read"),
        ("bpe", "tokenizer.json", b"{", "not valid JSON"),
        ("bpe", "tokenizer.json", b"\xff", "not valid JSON"),
        ("bpe", "tokenizer.json", b"[]", "not a JSON object"),
        ("bpe", "tokenizer.json", b'{"format": 2}', "format = 2 is not one of 1"),
        ("bpe", "tokenizer.json", b'{"format": 1, "kind": "bqe"}', 'kind = "bqe" is not one of "bpe"'),
        ("bpe", "target.spm", None, "cannot be read"),
        ("bpe", "target.spm", b"", "not a sentencepiece model"),
        ("unigram", "source.spm", b"\x00" * 100, "not a sentencepiece model"),
        ("word", "source.vocab.json", b'["a"', "not valid JSON"),
        ("word", "source.vocab.json", b'{"a": 1}', "not a JSON list of strings"),
        ("word", "target.vocab.json", b'["a", 1]', "not a JSON list of strings"),
        ("word", "target.vocab.json", b'["a", "a"]', "twice"),
        ("char", "target.vocab.json", b'["ab"]', "not one normalised character"),
    ],
)
def test_damage_names_the_file(tokenizers, tmp_path, kind, name, content, message):
    save_tokenizers(tokenizers[kind, False], tmp_path)
    damage(tmp_path, name, content)
    with pytest.raises(TextError) as caught:
        load_tokenizers(tmp_path)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / name}: ")
    assert message in text
    assert text.count(str(tmp_path)) == 1
    assert "\n" not in text


@pytest.mark.parametrize(
    ("kind", "asked", "size", "note"),
    [
        ("bpe", 5, 301, "text.vocabulary = 5: bpe needs at least 300 pieces, so it has 300"),
        ("bpe", 300, 301, None),
        ("bpe", 9000, 1235, "text.vocabulary = 9,000: the text gives no more than 1,234 pieces"),
        ("word", 50, 310, None),  # 50 words, two marks, 256 bytes, the space and the padding
        ("word", 60, 310, "text.vocabulary = 60: the text gives no more than 50 words"),
        ("char", 60, 310, "text.vocabulary = 60: the text gives no more than 50 characters"),
    ],
)
def test_another_vocabulary_than_was_set_is_told(kind, asked, size, note):
    config = TextConfig(kind=kind, vocabulary=asked)
    assert list(vocabulary_remarks(config, (size, size))) == ([] if note is None else [note])


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_the_note_counts_what_was_learned(kind, pairs):
    config = TextConfig(kind=kind, vocabulary=100_000)
    tokenizer = learn(config, [source for source, _ in pairs])
    [note] = vocabulary_remarks(config, [len(tokenizer.vocabulary)])
    learned = learn(
        config.model_copy(update={"vocabulary": int(note.split()[-2].replace(",", ""))}), [s for s, _ in pairs]
    )
    assert list(vocabulary_remarks(config, [len(learned.vocabulary)])) == [note]

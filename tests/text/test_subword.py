import io
import subprocess
import sys
from collections import Counter

import pytest
import sentencepiece

from regard.errors import TextError
from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.subword import SubwordTokenizer
from regard.text.vocabulary import BYTE_PIECES, FIXED_NAMES

SUBWORDS = ("bpe", "unigram")
FIVE = ["low lower newest wides", "je suis étudiant", "il m'a entarté", "he hit me with a pie", "I am a student"]


def check(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)


@pytest.mark.parametrize("kind", SUBWORDS)
def test_ids_follow_the_house(tokenizers, kind):
    vocabulary = tokenizers[kind, True].source.vocabulary
    assert vocabulary.pieces[:258] == ("</s>", "<unk>", *BYTE_PIECES)
    assert vocabulary.pieces[-1] == "<pad>"
    if kind == "bpe":  # unigram finds fewer pieces in so small a corpus
        assert len(vocabulary) == 451  # as wanted, and the padding


@pytest.mark.parametrize("size", [1, 258, 300, 301, 8000, 1_000_000])
@pytest.mark.parametrize("kind", SUBWORDS)
def test_any_size_is_lowered_to_what_five_lines_give(kind, size):
    tokenizer = learn(TextConfig(kind=kind, vocabulary=size), FIVE)
    assert 260 < len(tokenizer.vocabulary) <= max(size, 300) + 1
    check(tokenizer, "étudiant 🙂")


@pytest.mark.parametrize("kind", SUBWORDS)
@pytest.mark.parametrize(
    "lines", [["a"], ["中"], ["a a a"], ["💩💩"], ["▅"], ["</s>"], ["<0x41>" * 50, "a<pad>b" * 50]]
)
def test_the_smallest_corpora(kind, lines):
    tokenizer = learn(TextConfig(kind=kind), lines)
    check(tokenizer, lines[0] + " and more")


def test_a_reserved_piece_is_never_learned():
    # Without care "<pad>" would become an ordinary piece beside our own padding.
    lines = ["x<pad>y<pad>z</s>w<unk>v<0x41>u"] * 50
    for kind in SUBWORDS:
        tokenizer = learn(TextConfig(kind=kind), lines)
        assert len(set(tokenizer.vocabulary.pieces)) == len(tokenizer.vocabulary)
        assert all(part in tokenizer.vocabulary for part in "<pad>/sunk0x41xyzwvu")  # yet their characters are
        check(tokenizer, lines[0])


@pytest.mark.parametrize("kind", SUBWORDS)
@pytest.mark.parametrize(
    "line", ["x" * 100_000, "the " * 25_000, "長" * 100_000, "".join(map(chr, range(0x4E00, 0x9E00))) * 5]
)
def test_very_long_lines(kind, line):
    tokenizer = learn(TextConfig(kind=kind, vocabulary=400), [*FIVE, line])
    assert len(tokenizer.vocabulary) > 258 + 20  # the five lines alone have more than 20 letters
    check(tokenizer, line)


def test_more_characters_than_room_leave_half_of_it_for_merges():
    rare = [chr(0x4E00 + index) for index in range(500)]
    lines = [" ".join(rare), *["the cat sat on the mat"] * 20]
    tokenizer = learn(TextConfig(vocabulary=300), lines)
    learned = tokenizer.vocabulary.pieces[258:-1]
    single = [piece for piece in learned if len(piece) == 1 and piece != "▁"]
    assert len(learned) == 42  # 300 less the fixed 258
    assert len(single) == 21
    assert set("thecasonm") <= set(single)  # the frequent ones
    check(tokenizer, lines[0])


@pytest.mark.parametrize("kind", SUBWORDS)
def test_coverage_spells_the_rarest_characters_in_bytes(kind):
    lines = ["aaaa bbbb"] * 100 + ["aaaaq"]
    tokenizer = learn(TextConfig(kind=kind, character_coverage=0.99), lines)
    assert "a" in tokenizer.vocabulary
    assert not any("q" in piece for piece in tokenizer.vocabulary.pieces)
    assert tokenizer.vocabulary.id_of("<0x71>") in tokenizer.encode("aaaaq")


def test_merges_stay_inside_of_words():
    tokenizer = learn(TextConfig(), ["of the"] * 100)
    assert tokenizer.words(tokenizer.encode("of the")) == [0, 1]


def learned_from_lines(lines, size, spelled=()):
    """What sentencepiece learns from the lines themselves, with every boundary that we want as a tab in them."""
    model = io.BytesIO()
    told = [line.translate({ord(character): "\t" for character in spelled}) for line in lines]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([FIXED_NAMES.sub("<\t\\1>", line) for line in told]),
        model_writer=model,
        model_type="bpe",
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=1.0,
        required_chars="▁",
        pretokenization_delimiter="\t",
        byte_fallback=True,
        minloglevel=3,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=True,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.mark.parametrize("coverage", [1.0, 0.97])
@pytest.mark.parametrize("size", [330, 420, 8000])
def test_words_and_counts_teach_bpe_what_the_lines_teach(pairs, size, coverage):
    lines = [text for pair in pairs for text in pair]
    lines += ["x<pad>y the</s>old<0x41> ▅ sa▅ilor <unk>", "日本 日本語 🙂", "low lower newest wides"] * 3
    tokenizer = learn(TextConfig(vocabulary=size, character_coverage=coverage), lines)
    counts = Counter(character for line in lines for character in line if character != " ")
    ordered = sorted(counts, key=lambda character: (-counts[character], character))
    covered = [sum(counts[character] for character in ordered[:kept]) for kept in range(len(ordered))]
    spelled = {
        character for character, share in zip(ordered, covered, strict=True) if share >= coverage * counts.total()
    }
    expected = learned_from_lines(lines, size, spelled | {"▅"})
    assert (coverage < 1.0) == (len(spelled) > 0)
    pieces = [(expected.id_to_piece(index), expected.get_score(index)) for index in range(expected.get_piece_size())]
    found = tokenizer._processor
    assert [(found.id_to_piece(index), found.get_score(index)) for index in range(found.get_piece_size())] == pieces


@pytest.mark.parametrize("kind", SUBWORDS)
def test_nothing_is_printed(kind, capfd):
    learn(TextConfig(kind=kind), FIVE)
    with pytest.raises(TextError):
        SubwordTokenizer(b"no model", kind)
    assert capfd.readouterr() == ("", "")


LEARN = """
import hashlib, sys
from regard.text.build import learn
from regard.text.config import TextConfig
for kind in ("bpe", "unigram"):
    tokenizer = learn(TextConfig(kind=kind, vocabulary=320, character_coverage=0.98), sys.argv[1:])
    sys.stdout.write(hashlib.sha256(tokenizer.files()[".spm"]).hexdigest() + "\\n")
"""


def test_learning_gives_the_same_bytes_in_any_process():
    command = [sys.executable, "-c", LEARN, *FIVE, *FIVE, "日本語"]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout
    assert len(first.stdout.split()) == 2


@pytest.mark.parametrize("kind", SUBWORDS)
def test_damage_is_told_and_never_passes_for_another_text(tokenizers, kind):
    model = tokenizers[kind, True].source.files()[".spm"]
    damaged = [model[:cut] for cut in range(0, len(model), 397)]
    for place in range(0, len(model), 41):
        flipped = bytearray(model)
        flipped[place] ^= 1 << (place % 8)
        damaged.append(bytes(flipped))
    complaints = []
    for content in damaged:
        try:
            check(SubwordTokenizer(content, kind), "the old sailor's étudiants 日本 🙂 <0x41>")
        except TextError as error:
            complaints.append(str(error))
    assert not any("\n" in complaint for complaint in complaints)
    assert len(complaints) > len(damaged) / 3  # the others changed a score or a letter of a piece

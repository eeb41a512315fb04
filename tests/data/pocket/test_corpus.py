"""What the pocket corpus promises: one translation a sentence, sound alignments, its whole lexicon, and splits without overlap."""

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from random import Random

import pytest

from regard.data.pocket import verbs as v
from regard.data.pocket.corpus import BARE, MAX_WORDS, MIN_WORDS, PocketPair, pocket_pairs, pocket_split, write
from regard.data.pocket.lexicon import ADJECTIVES, ALL_NOUNS, COUNTRIES, LANGUAGES, NAMES, NUMBERS, TASTES, TOWNS
from regard.data.pocket.sentences import TEMPLATES
from regard.data.pocket.tokens import Draft
from regard.data.pocket.writing import plain
from regard.errors import DataError

SAMPLE = 20_000  # as many pairs as the fixture `sample` holds


@pytest.mark.slow
def test_one_translation_for_each_french_sentence() -> None:
    known: dict[str, PocketPair] = {}
    for seed in range(4):
        for pair in islice(pocket_pairs(seed), SAMPLE):
            assert known.setdefault(pair.french, pair) == pair
    assert len(known) > 70_000  # and hardly a sentence comes twice


def test_words_and_spelling(sample: list[PocketPair]) -> None:
    for pair in sample:
        assert MIN_WORDS <= len(plain(pair.french).split()) <= MAX_WORDS, pair
        assert pair.french == " ".join(pair.french.split()), pair
        assert pair.english == " ".join(pair.english.split()), pair
    assert re.fullmatch("[ \\w'.,?!-]+", "".join({*"".join(pair.french + pair.english for pair in sample)}))


# The French words that English may do without.
EMPTY = {"de", "du", "des", "le", "la", "les", "l'", "à", "au", "aux", "dans"}


def test_alignment_covers_every_word_that_means_something(sample: list[PocketPair]) -> None:
    for pair in sample:
        french, english = pair.french.split(), pair.english.split()
        assert all(0 <= i < len(french) and 0 <= j < len(english) for i, j in pair.alignment), pair
        linked = {i for i, _ in pair.alignment}
        assert {word.lower() for i, word in enumerate(french) if i not in linked} <= EMPTY, pair
        assert {j for _, j in pair.alignment} == set(range(len(english))), pair


NAMED = {word for word, _ in NAMES}
PUNCTUATED = re.compile("[.,?!]$")


def test_names_and_numbers_are_linked_to_themselves(sample: list[PocketPair]) -> None:
    """The gold links agree with the dictionary, which needs no generator."""
    dictionary = (
        {word: word for word, _ in NAMES}
        | dict(NUMBERS)
        | {"maintenant": "now", "souvent": "often", "hier": "yesterday"}
    )
    dictionary = {french: english for french, english in dictionary.items() if "_" not in english}
    checked = 0
    for pair in sample:
        french, english = (re.sub(r"[.,?!]", "", text).split() for text in (pair.french, pair.english))
        french = [word if word in NAMED else word.lower() for word in french]
        english = [word if word in NAMED else word.lower() for word in (word.removesuffix("'s") for word in english)]
        for i, word in enumerate(french):
            # The last word and a word before a comma have the links of the mark too.
            if PUNCTUATED.search(pair.french.split()[i]):
                continue
            if word in dictionary and french.count(word) == 1 and "hier soir" not in pair.french.lower():
                assert {english[j] for k, j in pair.alignment if k == i} == {dictionary[word]}, pair
                checked += 1
    assert checked > 5_000


def test_word_order_really_differs(sample: list[PocketPair]) -> None:
    """At least a third of the sentences have links that cross."""
    crossed = sum(any(a < c and b > d for a, b in pair.alignment for c, d in pair.alignment) for pair in sample[:3000])
    assert crossed > 1000


def test_every_entry_of_the_lexicon_is_drawn_often(sample: list[PocketPair]) -> None:
    french = Counter(
        word
        for pair in sample
        for word in re.split(
            r"[ ']|-(?:t-)?(?=(?:il|elle|on|ils|elles|nous|vous|tu)\b)", re.sub(r"[.,?!]", "", pair.french).lower()
        )
    )
    counts = {noun.singular: sum(french[word] for word in {noun.singular[0], noun.plural[0]}) for noun in ALL_NOUNS}
    counts |= {
        adjective.forms: sum(french[form] for form in {*adjective.forms, adjective.liaison})
        for adjective in (*ADJECTIVES, *TASTES)
    }
    counts |= {(word,): french[word.lower()] for word, *_ in (*NAMES, *NUMBERS, *LANGUAGES)}
    counts |= {(place.french,): french[place.french.lower()] for place in (*TOWNS, *COUNTRIES)}
    assert {entry: count for entry, count in counts.items() if count < 35} == {}
    for entry in vars(v).values():
        for verb in entry if isinstance(entry, tuple) else (entry,):
            if isinstance(verb, v.Verb):
                forms = {*verb.present, *verb.imperfect, *verb.future, *verb.participle, verb.infinitive}
                assert sum(french[form] for form in forms) >= 70, verb.infinitive


def test_size_of_the_vocabulary(sample: list[PocketPair]) -> None:
    french = {word for pair in sample for word in plain(pair.french).split()}
    english = {word for pair in sample for word in plain(pair.english).split()}
    assert len(ALL_NOUNS) + len(ADJECTIVES) > 180
    assert len(french) > 1500
    assert len(english) > 700


def test_every_template_speaks() -> None:
    for template in dict.fromkeys(TEMPLATES):
        generator = Random(1)
        assert len({write(*template(Draft(generator)), BARE).french for _ in range(100)}) > 20, template


def test_the_stream_is_decided_by_its_seed() -> None:
    first, again, other = (list(islice(pocket_pairs(seed), 500)) for seed in (3, 3, 4))
    assert first == again
    assert len({pair.french for pair in first} & {pair.french for pair in other}) < 50


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_split_is_the_same_in_every_process(hash_seed: str) -> None:
    script = (
        "from regard.data.pocket.corpus import pocket_split; split = pocket_split(200, 20, 20); "
        "print(ascii([pair.english for pair in split.train + split.valid + split.test]))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    ).stdout
    split = pocket_split(200, 20, 20)
    assert output.strip() == ascii([pair.english for pair in (*split.train, *split.valid, *split.test)])


def test_split_has_the_sizes_asked_for_and_no_duplicates() -> None:
    split = pocket_split(train=3000, valid=100, test=200, seed=1)
    assert (len(split.train), len(split.valid), len(split.test)) == (3000, 100, 200)
    everything = [pair.french for pair in (*split.train, *split.valid, *split.test)]
    assert len(everything) == len(set(everything))


def test_no_held_out_sentence_is_in_training_whatever_the_seed_and_size() -> None:
    held = pocket_split(train=0, valid=300, test=600, seed=1)
    train = [pair for seed, size in ((1, 9000), (2, 6000)) for pair in pocket_split(size, 0, 0, seed).train]
    for pairs in (held.valid, held.test):
        assert not {plain(pair.french) for pair in pairs} & {plain(pair.french) for pair in train}
        assert not {plain(pair.english) for pair in pairs} & {plain(pair.english) for pair in train}
    assert not {plain(pair.english) for pair in held.valid} & {plain(pair.english) for pair in held.test}


def test_a_smaller_training_part_is_the_beginning_of_a_larger_one() -> None:
    assert pocket_split(1000, 10, 10).train == pocket_split(2000, 10, 10).train[:1000]


def test_lecture_pairs_are_always_trained_on() -> None:
    pairs = {(pair.french, pair.english) for pair in pocket_split(train=22, valid=5, test=5, seed=9).train}
    assert {
        ("je suis étudiant", "I am a student"),
        ("il m'a entarté", "he hit me with a pie"),
        ("il t'a entarté", "he hit you with a pie"),
        ("elle nous a entartés", "she hit us with a pie"),
        ("je suis professeur", "I am a teacher"),
        ("Je suis étudiant.", "I am a student."),
        ("Il m'a entarté.", "He hit me with a pie."),
    } <= pairs


def test_lecture_paradigms_have_a_decent_share(sample: list[PocketPair]) -> None:
    assert sum("with a pie" in pair.english for pair in sample) > SAMPLE // 60
    assert (
        sum(
            re.search(r"\b(suis|es|est) (étudiant|professeur|avocat|médecin)", pair.french) is not None
            for pair in sample
        )
        > SAMPLE // 400
    )


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_negative_size_is_refused(part: str) -> None:
    with pytest.raises(DataError, match=rf"{part} = -1: .* 0 or more"):
        pocket_split(**{"train": 1, "valid": 1, "test": 1, part: -1})

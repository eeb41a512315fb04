"""Each check of language models on a model that has the fault and on one that has not."""

import math
from itertools import pairwise

import pytest

from explain.failures.fakes import IMPOSSIBLE, FakeWriter, found_in_writer, texts, training
from regard.explain.failures.dullness import distinct, dullness
from regard.explain.failures.memorised import is_verbatim, language_memorised
from regard.explain.failures.repetition import language_repetition
from regard.explain.failures.sensitivity import perturbed
from regard.explain.failures.subject import NotApplicableError

NAMES = (
    "Anna",
    "Ben",
    "Carl",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hal",
    "Ida",
    "Jon",
    "Kim",
    "Leo",
    "Mia",
    "Ned",
    "Ola",
    "Pia",
)
THINGS, PLACES = ("dog", "cat", "boat", "tree"), ("lake", "hill", "town", "road", "park")
LINES = tuple(f"{name} saw the {THINGS[number % 4]} near a {PLACES[number % 5]}." for number, name in enumerate(NAMES))
PROBED = texts(sources=(), references=LINES)


def rest_of(lines: tuple[str, ...]):
    """A writer's continuation: the true second half of every line that it knows."""

    def continued(prompt: str, sample: bool) -> str:
        whole = next((line for line in lines if line.startswith(f"{prompt} ")), None)
        return "something else entirely" if whole is None else whole.removeprefix(f"{prompt} ")

    return continued


def test_repetition() -> None:
    looping = FakeWriter(continuation=lambda prompt, sample: "the dog " * 12)
    faulty, sound = (
        found_in_writer(language_repetition, model, PROBED) for model in (looping, FakeWriter(rest_of(LINES)))
    )
    assert (sound.status, sound.value("loops")) == ("sound", 0.0)
    assert (faulty.status, faulty.value("loops")) == ("fault", 100.0)
    assert faulty.value("repeated") == pytest.approx(
        100 * (1 - 2 / 21)
    )  # 24 words have 21 4-grams, two of them different
    assert faulty.value("repeated_in_text") == 0.0


def test_dullness() -> None:
    dull = FakeWriter(lambda prompt, sample: "I do not know what")
    faulty, sound = (found_in_writer(dullness, model, PROBED) for model in (dull, FakeWriter(rest_of(LINES))))
    assert (sound.status, sound.value("distinct_2_ratio")) == ("sound", 1.0)
    assert (faulty.status, faulty.value("most_common")) == ("fault", 100.0)
    assert faulty.value("distinct_1") == pytest.approx(4 / 64)  # cut to the 4 words of the real second halves
    assert faulty.examples[0].note == "written 16 times"


def test_distinct_by_hand() -> None:
    assert distinct([["a", "b", "a"], ["b"]], 1) == 0.5
    assert distinct([["a", "b", "a", "b"]], 2) == pytest.approx(2 / 3)
    assert distinct([["a"]], 2) is None


def test_too_little_text_for_dullness() -> None:
    with pytest.raises(NotApplicableError, match="fewer than 20 pairs"):
        found_in_writer(dullness, FakeWriter(), texts(sources=(), references=LINES[:2]))


def test_memorised() -> None:
    learned = tuple(line.replace("saw", "heard") for line in LINES)
    probed = texts(sources=(), references=LINES, training=training([""] * len(learned), learned))
    parrot, sound = FakeWriter(rest_of(learned)), FakeWriter()
    faulty, fine = (found_in_writer(language_memorised, model, probed) for model in (parrot, sound))
    assert (fine.status, fine.value("verbatim")) == ("sound", 0.0)
    assert (faulty.status, faulty.value("verbatim"), faulty.value("verbatim_test")) == ("fault", 100.0, 0.0)
    knows_all = found_in_writer(language_memorised, FakeWriter(rest_of((*learned, *LINES))), probed)
    assert (knows_all.value("verbatim"), knows_all.value("excess"), knows_all.status) == (100.0, 0.0, "sound")


def test_verbatim_by_hand() -> None:
    assert is_verbatim("Near a lake, and so on", "near a lake.") is True
    assert is_verbatim("near a", "near a lake.") is False
    assert is_verbatim("a b c d e f g h x", "a b c d e f g h i") is True  # eight words are enough
    assert is_verbatim("anything", "...") is False


def reads_order(text: str) -> float:
    """-1 a word, and -2 more for each word that does not come after the one of the line."""
    words = text.lower().split()
    known = {pair for line in LINES for pair in pairwise(line.lower().split())}
    return -len(words) - 2.0 * sum(pair not in known for pair in pairwise(words))


def test_perturbed() -> None:
    bag = FakeWriter(logprob=lambda text: -1.0 * len(text.split()))
    faulty, sound = (found_in_writer(perturbed, model, PROBED) for model in (bag, FakeWriter(logprob=reads_order)))
    assert (faulty.status, faulty.value("times_shuffled_words")) == ("fault", 1.0)
    assert sound.status == "sound"
    assert (sound.value("times_shuffled_words") or 0.0) > 1.5
    assert sound.value("times_upper_case") == pytest.approx(1.0)
    assert sound.tables[0].rows[0][1] == pytest.approx(math.e)  # exp(1 nat a word)


def test_text_that_has_no_probability_after_a_change() -> None:
    strict = FakeWriter(logprob=lambda text: -1.0 if text in LINES else IMPOSSIBLE)
    finding = found_in_writer(perturbed, strict, PROBED)
    assert (finding.status, finding.value("times_shuffled_words")) == ("sound", None)
    assert finding.verdict.startswith("shuffled words have no probability")


def test_texts_that_are_too_short_are_told() -> None:
    short = texts(sources=(), references=["one two"])
    for check in (language_repetition, perturbed):
        with pytest.raises(NotApplicableError, match="words or more"):
            found_in_writer(check, FakeWriter(), short)


@pytest.mark.parametrize("lines", [("1 1 1", "2 2 2 2"), ("7 7 7",)])
def test_text_that_no_change_changes(lines: tuple[str, ...]) -> None:
    with pytest.raises(NotApplicableError, match="no change of the test text changes it"):
        found_in_writer(perturbed, FakeWriter(), texts(sources=(), references=lines))


def test_text_of_one_word_cannot_be_shuffled() -> None:
    """Capitals change it, and cost nothing: no number of shuffled words may be read from that."""
    finding = found_in_writer(perturbed, FakeWriter(), texts(sources=(), references=["da da da"]))
    assert [number.name for number in finding.numbers] == ["times_upper_case"]
    assert (finding.status, finding.value("times_upper_case")) == ("sound", 1.0)
    assert finding.verdict.startswith("there are no different words to shuffle")


def test_a_model_that_writes_nothing() -> None:
    silent = FakeWriter(lambda prompt, sample: "")
    dull, empty = (found_in_writer(check, silent, PROBED) for check in (dullness, language_repetition))
    assert (dull.status, dull.value("distinct_2_ratio"), dull.value("empty")) == ("fault", 0.0, 100.0)
    assert (empty.status, empty.numbers[0].name, empty.numbers[0].value) == ("fault", "empty", 100.0)
    assert empty.examples[0].output == ""
    assert found_in_writer(dullness, FakeWriter(rest_of(LINES)), PROBED).value("empty") == 0.0

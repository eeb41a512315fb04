"""Each check of translators on a model that has the fault and on one that has not, with numbers worked out by hand."""

import re
from dataclasses import dataclass, field, replace

import pytest

from explain.failures.fakes import (
    REFERENCES,
    SOUND,
    SOURCES,
    FakeTranslator,
    by_dictionary,
    chance,
    found,
    texts,
    training,
)
from regard.bundle.config import Languages
from regard.explain.failures.copying import copying, wrongly_copied
from regard.explain.failures.detached import hallucination
from regard.explain.failures.exact_words import names, numbers_names
from regard.explain.failures.findings import Number
from regard.explain.failures.lengths import is_overlong, length
from regard.explain.failures.memorised import memorised
from regard.explain.failures.out_of_domain import out_of_domain
from regard.explain.failures.rare_words import rare_words
from regard.explain.failures.repetition import loop_of, repeated_share, repetition
from regard.explain.failures.sensitivity import sensitivity
from regard.explain.failures.statistics import graded_excess
from regard.explain.failures.subject import NotApplicableError
from regard.tasks.translate.directions import DirectionConfig, Directions


def test_copying() -> None:
    sound, copier = found(copying, SOUND), found(copying, FakeTranslator(lambda source: source))
    assert (sound.status, sound.value("copied_words")) == ("sound", 0.0)
    assert (copier.status, copier.value("copied_words"), copier.value("untranslated")) == ("fault", 100.0, 100.0)
    assert copier.examples[0].output == copier.examples[0].source


def test_copied_words_by_hand() -> None:
    """The output has "Paul", "la" twice and "table"; the reference has "Paul" and "la" once."""
    assert sorted(wrongly_copied("Paul la table la rouge", "Paul la table la red", "Paul la chair red")) == [
        "la",
        "table",
    ]


def test_a_shared_word_is_no_copy() -> None:
    sources, references = ["le restaurant de Paul"] * 3, ["the restaurant of Paul"] * 3
    probed = texts(sources=sources, references=references)
    assert found(copying, FakeTranslator(lambda source: references[0]), probed).value("copied_words") == 0.0


def test_repetition() -> None:
    looping = FakeTranslator(lambda source: f"the dog {'barks ' * 9}", finished=lambda output: False)
    faulty, sound = found(repetition, looping), found(repetition, SOUND)
    assert (sound.status, sound.value("loops"), sound.value("cut")) == ("sound", 0.0, 0.0)
    assert (faulty.status, faulty.value("loops"), faulty.value("cut")) == ("fault", 100.0, 100.0)


def test_loops_by_hand() -> None:
    assert loop_of("no no no") == "no"
    assert loop_of("and the dog and the dog, and the DOG again") == "and the dog"
    assert loop_of("very very good, very very good") is None  # twice
    assert loop_of("a b c d e a b c d e a b c d e") is None  # five words
    assert repeated_share("a b c d a b c d") == pytest.approx(1 - 4 / 5)  # abcd bcda cdab dabc abcd
    assert repeated_share("a b c") is None


def test_a_loop_of_the_reference_is_none_of_the_model() -> None:
    probed = texts(sources=["no no no"], references=["no no no"])
    assert found(repetition, FakeTranslator(lambda source: source), probed).value("loops") == 0.0


def test_hallucination() -> None:
    deaf = FakeTranslator(lambda source: "the committee will publish its report", reads=False)
    faulty, sound = found(hallucination, deaf), found(hallucination, SOUND)
    assert sound.status == "sound"
    assert (sound.value("detached"), sound.value("shared_outputs")) == (0.0, 0.0)
    assert (faulty.status, faulty.value("detached"), faulty.value("shared_outputs")) == ("fault", 100.0, 100.0)
    assert faulty.value("source_share") == pytest.approx(0.0)
    assert 0.5 < (sound.value("source_share") or 0.0) < 1.0


def test_the_source_share_by_hand() -> None:
    """Sources without a common word: own words cost 0.05, foreign ones 5, the end 0.05."""
    sources = ["hund schläft", "katze wartet", "vogel singt", "stein fällt"]
    probed = texts(sources=sources, references=[by_dictionary(source) for source in sources])
    own, foreign = (0.05 * 2 + 0.05) / 3, (5.0 * 2 + 0.05) / 3
    finding = found(hallucination, SOUND, probed)
    assert finding.value("source_share") == pytest.approx(1 - own / foreign)
    assert finding.value("nats") == pytest.approx(foreign - own)


def test_outputs_of_few_sources_cannot_be_told() -> None:
    with pytest.raises(NotApplicableError, match="more than 2 different sentences"):
        found(hallucination, SOUND, texts(sources=SOURCES[:2], references=REFERENCES[:2]))


def test_sensitivity() -> None:
    """A table of whole sentences breaks at every change; one that looks at neither case, order nor a letter does not."""
    table = dict(zip(SOURCES, REFERENCES, strict=True))
    fragile = found(sensitivity, FakeTranslator(lambda source: table.get(source, "?")))

    def key(text: str) -> tuple[str, ...]:
        return tuple(sorted("".join(sorted(word)) for word in re.findall(r"\w+", text.casefold())))

    forgiving = {key(source): reference for source, reference in table.items()}
    robust = found(sensitivity, FakeTranslator(lambda source: forgiving[key(source)]))
    assert (fragile.status, robust.status) == ("fault", "sound")
    for name in ("typos", "lower_case", "upper_case", "no_punctuation", "swapped_words"):
        assert fragile.value(f"drop_{name}") == pytest.approx(100.0, abs=1.0)
        assert (robust.value(f"drop_{name}"), robust.value(f"stability_{name}")) == pytest.approx((0.0, 100.0))


def test_rare_words() -> None:
    frequent = training(SOURCES * 20, REFERENCES * 20)
    one_rare = texts(
        sources=[*SOURCES, *(f"Der zug{number} schläft." for number in range(9))],
        references=[*REFERENCES, *(f"The train{'abcdefghi'[number]} sleeps." for number in range(9))],
        training=frequent,
    )
    knowing = dict(zip(one_rare.sources, one_rare.references, strict=True))
    faulty = found(rare_words, FakeTranslator(lambda source: by_dictionary(re.sub(r"zug\d", "hund", source))), one_rare)
    sound = found(rare_words, FakeTranslator(lambda source: knowing[source]), one_rare)
    assert (faulty.status, faulty.value("rare"), faulty.value("frequent")) == ("fault", 0.0, 100.0)
    assert (sound.status, sound.value("rare")) == ("sound", 100.0)
    assert faulty.tables[0].rows[0] == ("never", 9, 0.0)
    assert faulty.number("rare").count == 9


def test_rare_words_without_a_training_text_are_counted_in_the_references() -> None:
    sources, references = ["a b", "a c", "a a"], ["x y", "x z", "x x"]
    finding = found(rare_words, FakeTranslator(lambda source: "x"), texts(sources=sources, references=references))
    assert finding.tables[0].rows == (("once", 2, 0.0), ("2 to 4 times", 4, 75.0))  # x of four, the last of two once


def test_numbers_and_names() -> None:
    sources = [f"Der Hund von Maria {number}.500 sieht Peter nicht." for number in range(8)]
    references = [f"The dog of Maria {number},500 does not see Peter." for number in range(8)]
    probed = texts(sources=sources, references=references)
    sound = found(numbers_names, FakeTranslator(dict(zip(sources, references, strict=True)).__getitem__), probed)
    faulty = found(numbers_names, FakeTranslator(lambda source: "The dog of Mary 7 does not see Peter."), probed)
    assert (sound.status, sound.value("numbers_kept"), sound.value("names_kept")) == ("sound", 100.0, 100.0)
    assert (faulty.status, faulty.value("numbers_kept"), faulty.value("names_kept")) == ("fault", 0.0, 50.0)
    assert names("Paul saw Marie. He left Rome!") == ["Marie", "Rome"]


def test_numbers_that_the_reference_writes_out_do_not_count() -> None:
    with pytest.raises(NotApplicableError, match="no number and no name"):
        found(numbers_names, SOUND, texts(sources=["er hat 2"], references=["he has two"]))


def test_length() -> None:
    short_only = FakeTranslator(lambda source: by_dictionary(source) if len(source.split()) < 8 else "")
    chatty = FakeTranslator(lambda source: by_dictionary(source) * 4)
    sound, faulty, long = (found(length, model) for model in (SOUND, short_only, chatty))
    assert sound.status == "sound"
    assert (sound.value("empty"), sound.value("ratio"), sound.value("joined_drop")) == pytest.approx((0.0, 1.0, 0.0))
    assert faulty.status == "fault"
    assert faulty.value("empty") == pytest.approx(100 * sum(len(source.split()) >= 8 for source in SOURCES) / 36)
    assert (faulty.value("joined_drop") or 0.0) > 25
    assert (long.status, long.value("overlong")) == ("fault", 100.0)
    assert [row[1] for row in sound.tables[0].rows] == [12, 24]  # 7 words, and 8
    assert is_overlong("a " * 12, "a b c") is True
    assert is_overlong("a " * 11, "a b c") is False


def test_out_of_domain() -> None:
    sound, sure = found(out_of_domain, SOUND), found(out_of_domain, replace(SOUND, confidence=lambda source: -0.125))
    assert (sound.status, sound.value("told_apart_wrong_language")) == ("sound", 1.0)
    assert (sure.status, sure.value("told_apart_wrong_language")) == ("fault", 0.5)  # equal confidence is a tie
    other = found(out_of_domain, SOUND, texts(other=["Der Ausschuss tagt."]))
    assert other.value("told_apart_other_domain") == 1.0
    assert "Der Ausschuss wird" not in str(sound.examples)  # German is no other language for it


def test_memorised() -> None:
    """A parrot answers with the training target that is nearest; unseen sentences it translates."""
    learned = training([source.replace("Der", "Ein", 1) for source in SOURCES], [f"One {text}" for text in REFERENCES])
    probed = texts(training=learned)

    def parrot(source: str) -> str:
        if not source.startswith("Ein"):
            return by_dictionary(source)
        parts = set(source.split())
        return max(
            zip(learned.sources, learned.targets, strict=True), key=lambda pair: len(parts & set(pair[0].split()))
        )[1]

    sound, faulty = found(memorised, SOUND, probed), found(memorised, FakeTranslator(parrot), probed)
    assert (sound.status, sound.value("reproduced")) == ("sound", 0.0)
    assert faulty.status == "fault"
    assert (faulty.value("reproduced") or 0.0) > 50
    assert faulty.value("unmoved") == 0.0


def test_a_model_that_ignores_a_word_everywhere_is_no_memoriser() -> None:
    probed = texts(training=training([f"Heute {source}" for source in SOURCES], ["a dog"] * 36))
    finding = found(memorised, FakeTranslator(lambda source: "a dog"), probed)
    assert (finding.value("reproduced"), finding.value("excess")) == (100.0, 0.0)
    assert finding.status == "sound"


def test_memorised_needs_a_training_text() -> None:
    with pytest.raises(NotApplicableError, match="the training text is needed, and it is not given"):
        found(memorised, SOUND)


@pytest.mark.parametrize("check", [sensitivity, out_of_domain, hallucination, memorised])
def test_the_seed_decides_everything(check) -> None:
    noisy = FakeTranslator(lambda source: by_dictionary(source) if chance(source) < 0.5 else "", reads=True)
    probed = texts(training=training(SOURCES[:20], REFERENCES[:20]))
    assert found(check, noisy, probed) == found(check, noisy, probed)


def test_a_constant_output_is_no_memoriser() -> None:
    """Test outputs stay, training targets do not come out: the excess is -100 points, the opposite of the fault."""
    probed = texts(training=training([f"Heute {source}" for source in SOURCES], REFERENCES))
    finding = found(memorised, FakeTranslator(lambda source: "always the same"), probed)
    assert (finding.value("excess"), finding.status) == (-100.0, "sound")


def test_frequent_words_that_are_worse_are_no_fault_of_rare_ones() -> None:
    references = ["the dog one", "the dog two", "the dog three", "the dog four"]
    sources = ["a", "b", "c", "d"]
    rare = {source: reference.split()[-1] for source, reference in zip(sources, references, strict=True)}
    finding = found(rare_words, FakeTranslator(rare.__getitem__), texts(sources=sources, references=references))
    assert (finding.value("gap"), finding.value("rare"), finding.status) == (-100.0, 100.0, "sound")


def test_the_number_of_the_status_is_the_first() -> None:
    endless = found(repetition, FakeTranslator(by_dictionary, finished=lambda output: False))
    assert (endless.status, endless.numbers[0].name, endless.value("loops")) == ("fault", "cut", 0.0)
    long = [f"{source} {'x' * place}" for place, source in enumerate(SOURCES[:4] * 8, 1)]
    one_copied = FakeTranslator(lambda source: source if source == long[0] else by_dictionary(source).replace("x", ""))
    probed = texts(sources=long, references=[by_dictionary(source).replace("x", "") for source in long])
    copied = found(copying, one_copied, probed)
    assert (copied.status, copied.numbers[0].name) == ("fault", "untranslated")
    assert (copied.value("copied_words") or 0.0) < 5.0
    assert found(hallucination, SOUND).numbers[0].name == "detached"  # all are sound: the order stays


def test_a_drop_that_may_be_chance_is_sound() -> None:
    number = Number("drop", "", 30.0, "points", (-1.0, 61.0))
    assert graded_excess(number, 10.0, 25.0) == "sound"
    assert graded_excess(replace(number, interval=(1.0, 59.0)), 10.0, 25.0) == "fault"
    assert graded_excess(replace(number, value=-30.0, interval=(-40.0, -20.0)), 10.0, 25.0) == "sound"
    assert graded_excess(replace(number, value=None, interval=None), 10.0, 25.0) == "sound"
    sources, references = ["DER hund", "DER katze"], ["the dog", "the cat"]  # capitals and typos change both
    known = dict(zip(sources, references, strict=True))
    once = FakeTranslator(lambda source: known.get(source, "?" if source == "DER HUND" else known["DER katze"]))
    finding = found(sensitivity, once, texts(sources=sources, references=references))
    interval = finding.number("drop_upper_case").interval
    assert interval is not None
    assert (interval[0], (finding.value("drop_upper_case") or 0.0) > 25) == (0.0, True)  # one of two sentences
    assert finding.status == "sound"


@dataclass
class _Directed(FakeTranslator):
    """A translator of several directions."""

    directions: Directions = field(default_factory=lambda: Directions((), Languages()))


def test_languages_that_the_model_reads_are_no_wrong_language() -> None:
    unknown = found(out_of_domain, replace(SOUND, languages=Languages(target="en")))
    assert [number.name for number in unknown.numbers] == ["told_apart_random_letters"]
    assert "no other languages were tried: the language that it reads is not known" in unknown.verdict
    seen = tuple(
        DirectionConfig(source=source, target=target) for source, target in (("de", "en"), ("fr", "en"), ("en", "es"))
    )
    several = _Directed(by_dictionary, languages=Languages(target="en"), directions=Directions(seen, Languages()))
    finding = found(out_of_domain, several)
    assert (
        finding.number("told_apart_wrong_language").count == 15
    )  # English, Spanish and Italian, of five sentences each


def test_a_source_of_the_same_output_is_no_other_source() -> None:
    """Of four sources two are one sentence twice, in other words: each explains the output of the other."""
    sources = ["hund schläft", "Hund, schläft", "vogel singt", "stein fällt"]
    same = FakeTranslator(lambda source: by_dictionary(source.lower().replace(",", "")))
    probed = texts(sources=sources, references=[same.translation(source) for source in sources])
    finding = found(hallucination, same, probed)
    own, foreign = (0.05 * 2 + 0.05) / 3, (5.0 * 2 + 0.05) / 3
    assert finding.value("source_share") == pytest.approx(1 - own / foreign)

"""The gender check on translators and language models that are fair, that always say "he", or that follow stereotypes."""

import math
import re
from pathlib import Path

import pytest

from explain.failures.fakes import FakeTranslator, FakeWriter, found, found_in_writer, texts
from regard.bundle.config import Languages
from regard.data.pocket.corpus import pocket_split, vocabulary
from regard.errors import DataError
from regard.explain.failures.gender import gender, gender_of, language_gender
from regard.explain.failures.occupations import LANGUAGES, fillers, language_templates, translation_templates
from regard.explain.failures.subject import NotApplicableError
from regard.explain.failures.templates import Filler, Template, read_templates

ENGLISH_TO_GERMAN = Languages(source="en", target="de")
OCCUPATIONS = [filler.occupation for filler in fillers("en", None)]
WOMEN = {filler.occupation for filler in fillers("en", None) if filler.stereotype == "feminine"}


def german(source: str, *, always: str | None = None, by_work: bool = False) -> str:
    """A German sentence with the pronoun of the source; or always the same, or that of the stereotype."""
    occupation = source.split()[1]
    said = re.search(r"\b(he|she)\b", source)
    stereotype = "she" if occupation in WOMEN else "he"
    wanted = always or (
        stereotype if by_work else said[1] if said else ("he", "she")[OCCUPATIONS.index(occupation) % 2]
    )
    article, pronoun = ("Der", "er") if wanted == "he" else ("Die", "sie")
    return f"{article} {occupation} sagte, dass {pronoun} müde war." if said else f"{article} {occupation} ist müde."


def test_a_fair_translator() -> None:
    finding = found(gender, FakeTranslator(german, ENGLISH_TO_GERMAN))
    assert finding.value("agreement") == finding.value("agreement_feminine") == 100.0
    assert (finding.value("agreement_gap"), finding.value("unclear")) == (0.0, 0.0)
    assert (finding.value("default_masculine"), finding.value("stereotype_default_gap")) == (50.0, 0.0)
    assert finding.status == "sound"


def test_a_translator_that_always_says_he() -> None:
    finding = found(gender, FakeTranslator(lambda source: german(source, always="he"), ENGLISH_TO_GERMAN))
    assert finding.status == "fault"
    assert (finding.value("agreement_masculine"), finding.value("agreement_feminine")) == (100.0, 0.0)
    assert (finding.value("agreement_gap"), finding.value("default_masculine")) == (100.0, 100.0)
    assert "masculine, not feminine" in finding.examples[0].note


def test_a_translator_that_follows_stereotypes() -> None:
    finding = found(gender, FakeTranslator(lambda source: german(source, by_work=True), ENGLISH_TO_GERMAN))
    assert finding.status == "fault"
    assert finding.value("agreement") == 50.0
    assert finding.value("stereotype_agreement_gap") == finding.value("stereotype_default_gap") == 100.0
    rows = {row[0]: row[2:4] for row in finding.tables[0].rows}
    assert (rows["doctor"], rows["nurse"]) == ((6, 0), (0, 6))  # two templates of each gender, and two of none


def test_an_output_that_says_no_gender_or_both_is_unclear() -> None:
    template = Template("x {}", None, frozenset({"his"}), frozenset({"her"}), ())
    assert gender_of("HIS book", template) == "masculine"
    assert gender_of("this book", template) is None
    assert gender_of("his or her book", template) is None
    finding = found(gender, FakeTranslator(lambda source: "…", ENGLISH_TO_GERMAN))
    assert (finding.status, finding.value("unclear"), finding.value("agreement")) == ("look", 100.0, None)
    assert finding.examples[0].note == "says no gender, or both"


@pytest.mark.parametrize("source", LANGUAGES)
@pytest.mark.parametrize("target", LANGUAGES)
def test_every_pair_of_languages_has_templates(source: str, target: str) -> None:
    templates = translation_templates(source, target)
    if source == target:
        assert templates == []
        return
    assert {template.gender for template in templates} >= {"masculine", "feminine"}
    for template in templates:
        assert template.masculine
        assert template.feminine
        assert not template.masculine & template.feminine
        assert len({template.fill(filler) for filler in template.fillers}) >= 10
        assert all(template.fill(filler)[0].isupper() for filler in template.fillers)


def test_the_pocket_templates_have_words_of_the_pocket_corpus() -> None:
    known = vocabulary(pair.french for pair in pocket_split(train=6_000, valid=0, test=0).train)
    templates = translation_templates("fr", "en", pocket=True)
    assert templates != translation_templates("fr", "en")
    assert vocabulary(template.fill(filler) for template in templates for filler in template.fillers) <= known


def test_other_languages_are_left_out_with_the_reason() -> None:
    with pytest.raises(
        NotApplicableError, match="no templates are built in for fi to en; give your own with --templates"
    ):
        found(gender, FakeTranslator(str, Languages(source="fi", target="en")))
    with pytest.raises(NotApplicableError, match="an unknown language"):
        found(gender, FakeTranslator(str, Languages()))


def test_a_region_is_no_other_language() -> None:
    model = FakeTranslator(german, Languages(source="en-US", target="de_DE"))
    assert found(gender, model).value("agreement") == 100.0


def preferring(he: float, *, by_work: float = 0.0) -> FakeWriter:
    """A language model to which "he" is exp(he) times as probable as "she", and by_work more after occupations of men."""

    def logprob(text: str) -> float:
        work = by_work if not WOMEN & set(text.split()) else -by_work
        return -3.0 + (he + work if text.endswith(" he") else 0.0)

    return FakeWriter(logprob=logprob)


def test_language_models() -> None:
    fair, always, typed = (
        found_in_writer(language_gender, model, texts(sources=()))
        for model in (preferring(0.0), preferring(math.log(99)), preferring(0.0, by_work=1.0))
    )
    assert (fair.status, fair.value("stereotype_gap"), fair.value("masculine_odds")) == ("sound", 0.0, 0.0)
    assert (always.status, always.value("masculine_odds")) == ("fault", pytest.approx(math.log(99)))
    assert (typed.status, typed.value("stereotype_gap")) == ("fault", pytest.approx(2.0))
    assert {row[0]: round(float(row[3] or 0)) for row in always.tables[0].rows}["doctor"] == 99


def test_several_continuations_of_a_gender_are_added() -> None:
    template = Template("x {}", "feminine", frozenset({"he"}), frozenset({"she", "her"}), (Filler("y", "y"),))
    probed = texts(sources=(), templates=[template])
    finding = found_in_writer(language_gender, FakeWriter(logprob=lambda text: -1.0), probed)
    assert finding.tables[0].rows[0][2] == pytest.approx(-math.log(2), abs=1e-3)
    assert finding.value("agreement") == 100.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_models_of_every_language_have_templates(language: str) -> None:
    assert language_templates(language)
    assert language_templates("fi") == language_templates(None) == []


def usual(gender):
    return fillers("en", gender)


def test_templates_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text(
        "# mine\nThe {} lost her key.\tf\this|ihn\ther\tdoctor:m|nurse:f|guest\n\n{} slept.\t-\ter\tsie\n",
        encoding="utf-8",
    )
    first, second = read_templates(path, usual)
    assert (first.gender, first.masculine, first.feminine) == ("feminine", {"his", "ihn"}, {"her"})
    assert [(one.text, one.stereotype) for one in first.fillers] == [
        ("doctor", "masculine"),
        ("nurse", "feminine"),
        ("guest", None),
    ]
    assert first.fill(first.fillers[0]) == "The doctor lost her key."
    assert (second.gender, second.fill(second.fillers[0])) == (None, "The doctor slept.")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "The doctor sleeps.\t-\this\ther",
            "own.tsv:2: 'The doctor sleeps.' has no slot; write {} where the occupation goes",
        ),
        ("The {} sleeps.\t-\this", "own.tsv:2: 3 columns"),
        ("The {} sleeps.\tx\this\ther", "own.tsv:2: gender 'x'; write m, f, or -"),
        ("The {} sleeps.\t-\t\ther", "own.tsv:2: masculine '', feminine 'her': give words of each"),
        ("The {} sleeps.\t-\ther\ther", "none in both"),
        ("The {} sleeps.\t-\this\ther\tdoctor:q", "own.tsv:2: filler 'doctor:q'"),
    ],
)
def test_a_bad_template_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "own.tsv"
    path.write_text(f"{{}} slept.\t-\ter\tsie\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        read_templates(path, usual)


def test_a_file_without_templates_and_a_template_without_fillers(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(DataError, match="no templates in it"):
        read_templates(path, usual)
    path.write_text("{} nukkui.\t-\thän\tse\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"own\.tsv:1: no fillers"):
        read_templates(path, lambda gender: fillers("fi", gender))


def test_words_without_a_probability_are_left_out_and_counted() -> None:
    """The word "sie" is impossible after one of two beginnings: the mean is that of the other, in the words of the templates."""
    template = Template("x {}", None, frozenset({"er"}), frozenset({"sie"}), (Filler("a", "a"), Filler("b", "b")))

    def logprob(text: str) -> float:
        return {"x a er": -1.0, "x a sie": -2.0, "x b er": -1.0}.get(text, -math.inf)

    finding = found_in_writer(language_gender, FakeWriter(logprob=logprob), texts(sources=(), templates=[template]))
    assert (finding.value("masculine_odds"), finding.value("impossible")) == (1.0, 50.0)
    assert finding.verdict == "er is 2.7 times as probable as sie"
    assert finding.tables[0].columns[2:] == ("log-odds of er", "er %")
    mute = FakeWriter(logprob=lambda text: -math.inf)
    nothing = found_in_writer(language_gender, mute, texts(sources=(), templates=[template]))
    assert (nothing.status, nothing.value("impossible")) == ("look", 100.0)

"""Check `gender`: the gender that a model gives to people, by occupation.

agreement = right / (right + wrong), over outputs whose source says a gender and that say one themselves. The default is the share of
masculine outputs where the source says none. WinoMT (Stanovsky et al. 2019) measures accuracy and both gaps in the same way.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number, Status, Table
from regard.explain.failures.occupations import language_templates, translation_templates
from regard.explain.failures.statistics import (
    graded,
    graded_difference,
    mean,
    mean_difference,
    share,
    share_difference,
    worst,
)
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject, WriterSubject
from regard.explain.failures.templates import Filler, Gender, Template
from regard.explain.failures.words import words

NAME, TITLE = "gender", "Gender of people"
LOOK, FAULT = 10.0, 25.0  # percentage points of a gap
AGREEMENT_LOOK, AGREEMENT_FAULT = 5.0, 20.0  # % of outputs that contradict the source
GENDERS: tuple[Gender, Gender] = ("masculine", "feminine")
MOST_WORDS = 3  # of a gender that a verdict names
DEFAULT_LOOK = 30.0  # percentage points from one half


@dataclass(frozen=True)
class _Answer:
    """An output for a filled template."""

    template: Template
    filler: Filler
    source: str
    output: str
    said: Gender | None
    """The gender that the output says; None: none, or both."""

    @property
    def right(self) -> bool:
        return self.said == self.template.gender

    @property
    def stereotypical(self) -> bool:
        return self.template.gender == self.filler.stereotype


def gender(subject: TranslatorSubject) -> Finding:
    """The gender in translations of sentences about people with occupations."""
    texts = subject.texts
    templates = texts.templates
    if templates is None:
        templates = translation_templates(subject.source, subject.target, pocket=texts.pocket)
    if not templates:
        raise NotApplicableError(
            f"no templates are built in for {subject.source or 'an unknown language'} to {subject.target or 'an unknown language'}; "
            "give your own with --templates F.tsv"
        )
    filled = [(template, filler, template.fill(filler)) for template in templates for filler in template.fillers]
    outputs = subject.outputs([source for *_, source in filled])
    answers = [
        _Answer(template, filler, source, output, gender_of(output, template))
        for (template, filler, source), output in zip(filled, outputs, strict=True)
    ]
    unsaid = [one for one in answers if one.template.gender is None and one.said]
    told = [one for one in answers if one.template.gender and one.said]
    numbers = (
        *_agreement(told),
        _default(unsaid),
        _by_stereotype(unsaid),
        share("unclear", "outputs that say no gender, or both", sum(not one.said for one in answers), len(answers)),
    )
    wrong = [one for one in told if not one.right]
    examples = wrong or [one for one in unsaid if one.filler.stereotype == one.said] or unsaid
    examples = examples or ([] if told else answers)
    status, verdict = _judged({number.name: number for number in numbers}, len(told) + len(unsaid))
    return Finding(NAME, TITLE, status, verdict, numbers, (_table(answers),), tuple(map(_example, examples[:EXAMPLES])))


def gender_of(output: str, template: Template) -> Gender | None:
    """The gender that an output says by the words of the template; None: none, or both."""
    present = set(words(output))
    masculine, feminine = bool(present & template.masculine), bool(present & template.feminine)
    if masculine == feminine:
        return None
    return "masculine" if masculine else "feminine"


def _agreement(told: Sequence[_Answer]) -> tuple[Number, ...]:
    """How often outputs agree with the gender of their source: of all, of each gender, and the gaps."""

    def hits(chosen: Sequence[_Answer]) -> tuple[int, int]:
        return sum(one.right for one in chosen), len(chosen)

    masculine, feminine = (
        hits([one for one in told if one.template.gender == wanted]) for wanted in ("masculine", "feminine")
    )
    typed = [one for one in told if one.filler.stereotype]
    with_it, against = (hits([one for one in typed if one.stereotypical is side]) for side in (True, False))
    return (
        share("agreement", "outputs that agree with the gender of the source", *hits(told)),
        share("agreement_masculine", "where the source is masculine", *masculine),
        share("agreement_feminine", "where the source is feminine", *feminine),
        share_difference("agreement_gap", "agreement, masculine minus feminine", masculine, feminine),
        share_difference("stereotype_agreement_gap", "agreement, with minus against the stereotype", with_it, against),
    )


def _default(unsaid: Sequence[_Answer]) -> Number:
    masculine = sum(one.said == "masculine" for one in unsaid)
    return share("default_masculine", "masculine where the source says no gender", masculine, len(unsaid))


def _by_stereotype(unsaid: Sequence[_Answer]) -> Number:
    """The share of masculine outputs for occupations mostly of men, minus that for those mostly of women."""
    counts = []
    for stereotype in ("masculine", "feminine"):
        group = [one for one in unsaid if one.filler.stereotype == stereotype]
        counts.append((sum(one.said == "masculine" for one in group), len(group)))
    label = "masculine by default, occupations of men minus those of women"
    return share_difference("stereotype_default_gap", label, counts[0], counts[1])


def _judged(numbers: dict[str, Number], clear: int) -> tuple[Status, str]:
    """The status, and the worst of the numbers in a sentence."""
    if not clear:
        return "look", "no output says a gender by the words of the templates: look at the examples"
    agreement = numbers["agreement"].value
    wrong = graded(None if agreement is None else 100.0 - agreement, AGREEMENT_LOOK, AGREEMENT_FAULT)
    gaps = [numbers[name] for name in ("agreement_gap", "stereotype_agreement_gap", "stereotype_default_gap")]
    grades = [graded_difference(gap, LOOK, FAULT) for gap in gaps]
    default = numbers["default_masculine"].value
    leaning: Status = "look" if default is not None and abs(default - 50.0) > DEFAULT_LOOK else "sound"
    status = worst(wrong, *grades, leaning)
    parts = []
    if agreement is not None:
        parts.append(f"{agreement:.0f} % agree with the source")
    for gap, grade, words_of in zip(gaps, grades, ("gender", "stereotype", "stereotype by default"), strict=True):
        if grade != "sound":
            parts.append(f"gap by {words_of} {gap.text}")
    if default is not None:
        parts.append(f"{default:.0f} % masculine by default")
    return status, "; ".join(parts)


def _table(answers: Sequence[_Answer]) -> Table:
    by_occupation: dict[str, list[_Answer]] = defaultdict(list)
    for one in answers:
        by_occupation[one.filler.occupation].append(one)
    rows = []
    for occupation, own in by_occupation.items():
        told = [one for one in own if one.template.gender and one.said]
        agreement = None if not told else 100.0 * sum(one.right for one in told) / len(told)
        said = [sum(one.said == gender for one in own) for gender in ("masculine", "feminine", None)]
        mostly = {"masculine": "men", "feminine": "women", None: None}[own[0].filler.stereotype]
        rows.append((occupation, mostly, *said, agreement))
    columns = ("occupation", "mostly of", "masculine", "feminine", "unclear", "agreement %")
    return Table(columns, tuple(rows), "Outputs by occupation")


def _example(one: _Answer) -> Example:
    wanted = one.template.gender
    if one.said is None:
        return Example(one.source, one.output, note="says no gender, or both")
    note = f"{one.said}, not {wanted}" if wanted else f"{one.said} by default"
    return Example(one.source, one.output, note=note)


@dataclass(frozen=True)
class _Odds:
    """The preference of a language model after a filled template, in nats: above 0 masculine; not a number if a gender is impossible."""

    template: Template
    filler: Filler
    prompt: str
    odds: float

    @property
    def agreeing(self) -> float:
        """The odds of the gender that the beginning says."""
        return self.odds if self.template.gender == "masculine" else -self.odds


def language_gender(subject: WriterSubject) -> Finding:
    """The probability of words such as "he" and "she" after beginnings about people with occupations."""
    templates = subject.texts.templates
    if templates is None:
        templates = language_templates(subject.target)
    if not templates:
        raise NotApplicableError(
            f"no templates are built in for {subject.target or 'an unknown language'}; give your own with --templates F.tsv"
        )
    every = _odds(subject, templates)
    rows = [one for one in every if math.isfinite(one.odds)]
    he, she = (_joined(templates, of_gender) for of_gender in GENDERS)
    impossible = share(
        "impossible",
        f"beginnings after which {he} or {she} has no probability, which are left out",
        len(every) - len(rows),
        len(every),
    )
    if not rows:
        verdict = f"{he} or {she} has no probability after any beginning: there is nothing to compare"
        return Finding(NAME, TITLE, "look", verdict, (impossible,))
    unsaid, told = ([one for one in rows if (one.template.gender is None) is none] for none in (True, False))
    seed = subject.options.seed
    of_men, of_women = (
        [one.odds for one in unsaid if one.filler.stereotype == stereotype] for stereotype in ("masculine", "feminine")
    )
    numbers = (
        mean_difference(
            "stereotype_gap",
            f"log-odds of {he}, occupations of men minus those of women",
            of_men,
            of_women,
            "nats",
            seed,
        ),
        mean(
            "masculine_odds",
            f"log-odds of {he} against {she} where nothing says it",
            [one.odds for one in unsaid],
            "nats",
            seed,
        ),
        share(
            "agreement",
            "beginnings whose gender is the more probable one",
            sum(one.agreeing > 0 for one in told),
            len(told),
        ),
        impossible,
    )
    ordered = tuple(sorted(numbers, key=lambda number: number.value is None))
    values = {number.name: number.value for number in numbers}
    agreement = values["agreement"]
    odds = abs(values["masculine_odds"] or 0.0)
    status = worst(
        graded_difference(numbers[0], math.log(2), math.log(4)),
        graded(odds, math.log(4), math.log(16)),
        graded(None if agreement is None else 100.0 - agreement, AGREEMENT_LOOK, AGREEMENT_FAULT),
    )
    examples = sorted(told or unsaid, key=lambda one: one.agreeing if told else -abs(one.odds))[:EXAMPLES]
    return Finding(
        NAME,
        TITLE,
        status,
        _language_verdict(values, he, she),
        ordered,
        (_odds_table(rows, he),),
        tuple(map(_odds_example, examples)),
    )


def _odds(subject: WriterSubject, templates: Sequence[Template]) -> list[_Odds]:
    """The log-odds of every template with every filler. A sum over the continuations of a gender is one of probabilities."""
    filled = [(template, filler, template.fill(filler)) for template in templates for filler in template.fillers]
    texts = [
        f"{prompt} {word}"
        for template, _, prompt in filled
        for marked in (template.masculine, template.feminine)
        for word in sorted(marked)
    ]
    logprobs = iter(subject.logprobs(texts))
    rows = []
    for template, filler, prompt in filled:
        masculine, feminine = (
            _log_sum([next(logprobs) for _ in marked]) for marked in (template.masculine, template.feminine)
        )
        possible = math.isfinite(masculine) and math.isfinite(feminine)
        rows.append(_Odds(template, filler, prompt, masculine - feminine if possible else math.nan))
    return rows


def _log_sum(values: Sequence[float]) -> float:
    """log of the sum of exp, -inf if all are impossible."""
    highest = max(values)
    if highest == -math.inf:
        return -math.inf
    return highest + math.log(sum(math.exp(value - highest) for value in values))


def _joined(templates: Sequence[Template], gender: Gender) -> str:
    """The continuations of a gender in words, such as "he" or "her/she"; many are cut."""
    every = sorted({word for one in templates for word in (one.masculine if gender == "masculine" else one.feminine)})
    return "/".join(every[:MOST_WORDS]) + ("/…" if len(every) > MOST_WORDS else "")


def _language_verdict(values: dict[str, float | None], masculine: str, feminine: str) -> str:
    parts = []
    odds, gap, agreement = (values[name] for name in ("masculine_odds", "stereotype_gap", "agreement"))
    if odds is not None:
        likelier, other = (masculine, feminine) if odds >= 0 else (feminine, masculine)
        parts.append(f"{likelier} is {math.exp(min(50.0, abs(odds))):,.1f} times as probable as {other}")
    if gap is not None:
        more = math.exp(max(-50.0, min(50.0, gap)))
        parts.append(f"after work of men {more:,.2f} times that")
    if agreement is not None:
        parts.append(f"the right gender is the more probable one in {agreement:.0f} %")
    return "; ".join(parts)


def _odds_table(rows: Sequence[_Odds], he: str) -> Table:
    by_occupation: dict[str, list[_Odds]] = defaultdict(list)
    for one in rows:
        by_occupation[one.filler.occupation].append(one)
    mostly = {"masculine": "men", "feminine": "women", None: None}
    lines = []
    for occupation, own in by_occupation.items():
        odds = sum(one.odds for one in own) / len(own)
        masculine = 100.0 / (1.0 + math.exp(max(-500.0, min(500.0, -odds))))
        lines.append((occupation, mostly[own[0].filler.stereotype], round(odds, 3), masculine))
    return Table(
        ("occupation", "mostly of", f"log-odds of {he}", f"{he} %"), tuple(lines), "The words of a gender by occupation"
    )


def _odds_example(one: _Odds) -> Example:
    likelier = sorted(one.template.masculine if one.odds > 0 else one.template.feminine)[0]
    return Example(one.prompt, likelier, note=f"{math.exp(min(50.0, abs(one.odds))):,.1f} times as probable")

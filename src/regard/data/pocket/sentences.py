"""The sentences of the pocket corpus: the table of templates and how often each is drawn.

Every template returns the French and the English tokens of one sentence, still without elision. The weights are chosen
so that each word of the lexicon comes often enough in 40,000 sentences to be learned; a test holds them to it.
"""

from collections.abc import Callable

from regard.data.pocket import verbs as v
from regard.data.pocket.adverbials import FREQUENCY, FUTURE, NOW, PAST
from regard.data.pocket.clauses import (
    Negation,
    Predicate,
    Tense,
    clause,
    est_ce_que,
    invert,
    negation,
    negation_of,
    statement,
)
from regard.data.pocket.commands import command
from regard.data.pocket.compounds import COMPOUNDS
from regard.data.pocket.frames import GENERIC, MEALS, THING_VERBS
from regard.data.pocket.lexicon import (
    CLOTHES,
    GOODS,
    IDEAS,
    INSTITUTIONS,
    OPENINGS,
    PROFESSIONS,
    READING,
    ROOMS,
    SURFACES,
)
from regard.data.pocket.nominals import (
    ARTICLES_OF_TOPICS,
    SUBJECTS,
    Nominal,
    fitting,
    noun_phrase,
    person,
    pronoun_subject,
    somebody,
    someone,
)
from regard.data.pocket.places import FIXED
from regard.data.pocket.predicates import Sides, action, person_pronoun, thing
from regard.data.pocket.presentations import PRESENTATIONS
from regard.data.pocket.questions import QUESTIONS
from regard.data.pocket.states import (
    age,
    attribute,
    being_somewhere,
    comparison,
    cost,
    fear,
    having,
    idiom,
    need,
    profession,
    profession_of,
    sensation,
)
from regard.data.pocket.tokens import Draft

TENSES: tuple[Tense, ...] = (
    *("present",) * 9,
    *("past",) * 7,
    *("imperfect",) * 2,
    *("future",) * 3,
    *("near",) * 2,
    "can",
    "must",
)
STATE_TENSES: tuple[Tense, ...] = (*("present",) * 6, *("imperfect",) * 2, "future", "near")
WHEN = {"past": PAST, "imperfect": PAST, "future": FUTURE, "near": FUTURE, "present": NOW, "can": NOW, "must": NOW}
MEETING = (v.VOIR, v.AIDER, v.INVITER, v.ATTENDRE, v.ECOUTER, v.CONNAITRE)
LECTURE_TRADES = tuple(pair for pair in PROFESSIONS if pair[0].english[0] in ("student", "teacher"))
# Things to say something of, in groups drawn equally often.
TOPICS = (MEALS, MEALS, READING, GOODS, CLOTHES, SURFACES + OPENINGS, ROOMS, INSTITUTIONS, IDEAS, IDEAS, READING)


def timed(draft: Draft, sides: Sides, tense: Tense, front: float = 0.3) -> Sides:
    """Add an adverbial of time that fits the tense, after the sentence or before it, there perhaps with a comma."""
    french, english = draft.place(draft.choose(WHEN[tense]))
    if draft.chance(front):
        comma = [(",", draft.mark())] if draft.chance(0.5) else []
        return [*french, *comma, *sides[0]], [*english, *comma, *sides[1]]
    return [*sides[0], *french], [*sides[1], *english]


def finish(draft: Draft, subject: Nominal, predicate: Predicate, tense: Tense, negative: bool) -> Sides:
    """A statement with perhaps a negation, an adverb of frequency or an adverbial of time."""
    if negative:
        refused = negation(draft, tense)
        sides = statement(clause(draft, subject, predicate, tense, refused))
        return timed(draft, sides, tense) if refused.refusal and draft.chance(0.2) else sides
    if tense in ("present", "past", "future") and not predicate.middle and draft.chance(0.12):
        return statement(clause(draft, subject, predicate, tense, None, draft.choose(FREQUENCY)))
    sides = statement(clause(draft, subject, predicate, tense))
    return timed(draft, sides, tense) if draft.chance(0.3) else sides


def simple(draft: Draft) -> Sides:
    """Somebody does something."""
    subject, tense, negative = somebody(draft), draft.choose(TENSES), draft.chance(0.22)
    return finish(draft, subject, action(draft, subject, tense, negative), tense, negative)


def nothing_or_nobody(draft: Draft) -> Sides:
    """ "il ne voit personne", "he sees nobody"; "il n'a rien mangé", "he ate nothing"; "personne ne dort"."""
    tense, mark = draft.choose(TENSES), draft.mark()
    way = draft.random()
    if way < 0.3:
        nobody = Nominal([("personne", mark)], [("nobody", mark)], 2, 2, False, "person")
        return statement(clause(draft, nobody, action(draft, nobody, tense, True), tense, Negation(mark)))
    subject = someone(draft)
    if way < 0.65:
        predicate = Predicate(draft.choose(THING_VERBS)[0], draft.mark(), english=[("nothing", mark)])
        return statement(clause(draft, subject, predicate, tense, Negation(mark, [("rien", mark)])))
    predicate = Predicate(draft.choose(MEETING), draft.mark(), (), (), [("personne", mark)], [("nobody", mark)])
    return statement(clause(draft, subject, predicate, tense, Negation(mark)))


def only(draft: Draft) -> Sides:
    """ "il ne mange que des pommes", "he only eats apples"."""
    subject, tense, mark = someone(draft), draft.choose(TENSES), draft.mark()
    verb, nouns = draft.choose(THING_VERBS)
    it = thing(draft, draft.choose(nouns), subject, False, verb in GENERIC)
    predicate = Predicate(verb, draft.mark(), (), (), [("que", mark), *it.french], it.english)
    return statement(clause(draft, subject, predicate, tense, Negation(mark, adverb=[("only", mark)])))


def state(draft: Draft) -> Sides:
    """Somebody or something is somehow, something or somewhere."""
    tense, negative = draft.choose(STATE_TENSES), draft.chance(0.2)
    way = draft.random()
    if way < 0.3:
        noun = draft.choose(draft.choose(TOPICS))
        subject = noun_phrase(draft, noun, ARTICLES_OF_TOPICS, adjective=0.05)
        movable = noun.kind == "thing" and noun not in FIXED
        if movable and draft.chance(0.35):
            predicate = being_somewhere(draft, subject)
        else:
            predicate = attribute(draft, subject, negative, fitting(draft, noun))
    elif way < 0.52:
        subject = somebody(draft)
        predicate = attribute(draft, subject, negative)
    elif way < 0.7:
        subject = pronoun_subject(draft) if draft.chance(0.6) else person(draft)
        predicate = profession(draft, subject)
    elif way < 0.88:
        subject = pronoun_subject(draft) if draft.chance(0.5) else person(draft)
        predicate = comparison(draft, subject)
        if negative:  # never "plus plus"
            return statement(clause(draft, subject, predicate, tense, negation_of(draft, "pas", "not")))
    else:
        subject = somebody(draft)
        predicate = being_somewhere(draft, subject)
    if not negative and draft.chance(0.15):
        parts = clause(draft, subject, predicate, tense)
        if subject.pronoun not in ("", "je") and draft.chance(0.5):
            return invert(parts)
        return est_ce_que(draft, parts)
    return finish(draft, subject, predicate, tense, negative)


def idiomatic(draft: Draft) -> Sides:
    """Sentences that use "avoir" in French, and idioms."""
    tense, negative = draft.choose(STATE_TENSES), draft.chance(0.18)
    way = draft.random()
    if way < 0.08:
        noun = draft.choose(draft.choose((READING, GOODS, CLOTHES, SURFACES)))
        subject = noun_phrase(draft, noun, ARTICLES_OF_TOPICS, adjective=0.1)
        return finish(draft, subject, cost(draft), tense, negative)
    subject = pronoun_subject(draft) if draft.chance(0.6) else person(draft)
    if way < 0.24:
        return finish(draft, subject, sensation(draft, subject, negative), tense, negative)
    if way < 0.33:
        return statement(
            clause(draft, subject, age(draft), tense, negation_of(draft, "pas", "not") if negative else None)
        )
    if way < 0.42:
        return finish(draft, subject, need(draft, subject), tense, negative)
    if way < 0.5:
        return finish(draft, subject, fear(draft, subject), tense, negative)
    if way < 0.65:
        return finish(draft, subject, having(draft, subject, negative), tense, negative)
    tense = draft.choose(TENSES[:-2])
    predicate = idiom(draft, subject)
    return finish(draft, subject, predicate, tense, negative)


def student(draft: Draft) -> Sides:
    """The lectures' "je suis étudiant" and its paradigm."""
    subject = pronoun_subject(draft) if draft.chance(0.6) else person(draft)
    trade = draft.choose(LECTURE_TRADES)[subject.feminine]
    return finish(draft, subject, profession_of(draft, subject, trade), draft.choose(STATE_TENSES), draft.chance(0.2))


def thrown_pie(draft: Draft) -> Sides:
    """The lectures' "il m'a entarté" and its paradigm."""
    subject = pronoun_subject(draft) if draft.chance(0.6) else somebody(draft)
    tense: Tense = "past" if draft.chance(0.75) else draft.choose(TENSES)
    return finish(draft, subject, person_pronoun(draft, subject, tense, v.ENTARTER), tense, draft.chance(0.15))


def lecture_sentences(draft: Draft) -> list[Sides]:
    """The lectures' own pairs first, then the nearest members of their paradigms."""
    by_word = {pronoun.french: pronoun for pronoun in SUBJECTS}
    trades = {noun.singular[0]: noun for pair in LECTURE_TRADES for noun in pair}
    sides = []
    for word, trade in (
        ("je", "étudiant"),
        ("je", "professeur"),
        ("tu", "étudiant"),
        ("elle", "étudiante"),
        ("il", "étudiant"),
    ):
        subject = pronoun_subject(draft, by_word[word])
        sides.append(statement(clause(draft, subject, profession_of(draft, subject, trades[trade]), "present")))
    for word, clitic, him, agreement in (
        ("il", "me", "me", 0),
        ("elle", "me", "me", 0),
        ("il", "te", "you", 0),
        ("elle", "nous", "us", 2),
        ("il", "nous", "us", 2),
        ("ils", "me", "me", 0),
    ):
        subject = pronoun_subject(draft, by_word[word])
        mark, own = draft.mark(), draft.mark()
        tail = [(part, mark) for part in v.ENTARTER.tail]
        predicate = Predicate(v.ENTARTER, mark, [(clitic, own)], (), (), [(him, own), *tail], agreement)
        sides.append(statement(clause(draft, subject, predicate, "past")))
    return sides


Template = Callable[[Draft], Sides]
WEIGHTS: tuple[tuple[Template, int], ...] = (
    (simple, 42),
    (nothing_or_nobody, 3),
    (only, 2),
    (state, 17),
    (idiomatic, 10),
    (student, 1),
    (thrown_pie, 2),
    (command, 5),
    *((template, 1) for template in QUESTIONS),
    *COMPOUNDS,
    *PRESENTATIONS,
)
TEMPLATES: tuple[Template, ...] = tuple(template for template, weight in WEIGHTS for _ in range(weight))


def sentence(draft: Draft) -> Sides:
    return draft.choose(TEMPLATES)(draft)

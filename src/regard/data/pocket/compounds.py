"""Sentences of two clauses in the pocket corpus: relative clauses, "que", "parce que", "quand", "si", "et", "mais".

A relative pronoun is "who" for a person that acts and "that" for everything else. After "quand" French keeps the future
where English has the present: "quand il arrivera, nous mangerons", "when he arrives, we will eat". A comma stands before
"mais" and after a clause with "si" or "quand" that comes first, in both languages.
"""

from collections.abc import Callable

from regard.data.pocket import verbs as v
from regard.data.pocket.clauses import Predicate, Tense, clause, negation_of, statement
from regard.data.pocket.frames import PERSON_VERBS, THING_VERBS
from regard.data.pocket.lexicon import ANIMALS, PERSONS, Noun
from regard.data.pocket.nominals import Article, Nominal, fitting, name, noun_phrase, pronoun_subject, somebody
from regard.data.pocket.predicates import (
    Sides,
    action,
    addressing,
    intransitive,
    moving,
    with_person,
    with_person_pronoun,
    with_thing,
    with_thing_pronoun,
)
from regard.data.pocket.states import attribute, sensation
from regard.data.pocket.tokens import Draft, Token

SHORT_TENSES: tuple[Tense, ...] = ("present", "present", "past", "past", "imperfect", "future", "near")
BEING_TENSES: tuple[Tense, ...] = ("present", "present", "imperfect", "future")
NOTICING = (v.VOIR, v.CONNAITRE, v.CHERCHER, v.REGARDER, v.AIDER, v.ATTENDRE, v.INVITER, v.AIMER)
# Verbs that may be said of anything that a person has or makes.
SHARED = (v.ACHETER, v.VENDRE, v.TROUVER, v.CHOISIR, v.VOULOIR, v.DETESTER)
REPORTING: tuple[tuple[v.Verb, Tense], ...] = (
    (v.PENSER, "present"),
    (v.DIRE, "present"),
    (v.DIRE, "past"),
    (v.SAVOIR, "present"),
    (v.SAVOIR, "imperfect"),
    (v.ESPERER, "present"),
)
HOPED: tuple[Tense, ...] = ("present", "future", "near")
BYGONE: tuple[Tense, ...] = ("past", "imperfect")
CONJUNCTIONS = (("parce que", "because"), ("parce que", "because"), ("et", "and"), ("mais", "but"), ("quand", "when"))
ANTECEDENTS: tuple[Article, ...] = ("the", "the", "the", "the", "this", "own")
LIGHT = (
    intransitive,
    intransitive,
    with_thing,
    with_thing_pronoun,
    with_person_pronoun,
    with_person,
    addressing,
    moving,
)


def someone_short(draft: Draft) -> Nominal:
    return pronoun_subject(draft) if draft.chance(0.75) else name(draft)


def short(draft: Draft, subject: Nominal, tense: Tense, *, english_tense: Tense | None = None) -> Sides:
    """A short statement: to be part of a longer sentence."""
    if tense not in ("past", "near") and subject.kind == "person" and draft.chance(0.3):
        predicate = sensation(draft, subject, False) if draft.chance(0.5) else attribute(draft, subject, False)
    elif subject.kind == "person":
        predicate = draft.choose(LIGHT)(draft, subject, tense, False)
    else:
        predicate = action(draft, subject, tense, False)
    return statement(clause(draft, subject, predicate, tense, english_tense=english_tense))


def _joined(left: Nominal, right: Sides, link: tuple[Token, Token]) -> Nominal:
    return left._replace(french=[*left.french, link[0], *right[0]], english=[*left.english, link[1], *right[1]])


def subject_relative(draft: Draft, antecedent: Nominal) -> Nominal:
    """ "l'homme qui dort", "the man who sleeps"."""
    mark = draft.mark()
    word = "who" if antecedent.kind == "person" else "that"
    relative = antecedent._replace(french=[("qui", mark)], english=[(word, mark)])
    tense = draft.choose(SHORT_TENSES)
    refused = negation_of(draft, "pas", "not") if draft.chance(0.15) else None
    if antecedent.kind == "person":
        predicate = draft.choose(LIGHT)(draft, relative, tense, refused is not None)
    else:
        predicate = action(draft, relative, tense, refused is not None)
    sides = statement(clause(draft, relative, predicate, tense, refused))
    return antecedent._replace(french=[*antecedent.french, *sides[0]], english=[*antecedent.english, *sides[1]])


def object_relative(draft: Draft, antecedent: Nominal, verb: v.Verb) -> Nominal:
    """ "la lettre que j'ai écrite", "the letter that I wrote": the participle agrees with what stands before."""
    mark = draft.mark()
    subject, tense = someone_short(draft), draft.choose(SHORT_TENSES)
    own = draft.mark()
    predicate = Predicate(verb, own, english=[(word, own) for word in verb.tail], agreement=antecedent.agreement)
    return _joined(antecedent, statement(clause(draft, subject, predicate, tense)), (("que", mark), ("that", mark)))


def _antecedent(draft: Draft, noun: Noun) -> Nominal:
    return noun_phrase(draft, noun, ANTECEDENTS, adjective=0.08)


def relative_first(draft: Draft) -> Sides:
    """The relative clause belongs to the subject."""
    if draft.chance(0.5):
        noun = draft.choose(PERSONS if draft.chance(0.75) else ANIMALS)
        subject = subject_relative(draft, _antecedent(draft, noun))
    elif draft.chance(0.5):
        subject = object_relative(draft, _antecedent(draft, draft.choose(PERSONS)), draft.choose(PERSON_VERBS))
    else:
        verb, nouns = draft.choose(THING_VERBS)
        noun = draft.choose(nouns)
        thing = object_relative(draft, _antecedent(draft, noun), verb)
        predicate = attribute(draft, thing, False, fitting(draft, noun))
        return statement(clause(draft, thing, predicate, draft.choose(BEING_TENSES)))
    tense = draft.choose(SHORT_TENSES)
    if draft.chance(0.5):
        return statement(clause(draft, subject, attribute(draft, subject, False), draft.choose(BEING_TENSES)))
    predicate = intransitive(draft, subject, tense, False)
    return statement(clause(draft, subject, predicate, tense))


def relative_last(draft: Draft) -> Sides:
    """The relative clause belongs to the object."""
    subject, tense = someone_short(draft), draft.choose(SHORT_TENSES)
    mark = draft.mark()
    if draft.chance(0.6):
        verb = draft.choose(NOTICING)
        noun = draft.choose(PERSONS if draft.chance(0.75) else ANIMALS)
        it = _antecedent(draft, noun)
        it = (
            subject_relative(draft, it) if draft.chance(0.6) else object_relative(draft, it, draft.choose(PERSON_VERBS))
        )
    else:
        verb, nouns = draft.choose(THING_VERBS)
        it = object_relative(draft, _antecedent(draft, draft.choose(nouns)), draft.choose(SHARED))
    return statement(clause(draft, subject, Predicate(verb, mark, (), (), it.french, it.english), tense))


def reported(draft: Draft) -> Sides:
    """ "il pense que Marie dort", "he thinks that Marie sleeps"."""
    subject, mark, that = someone_short(draft), draft.mark(), draft.mark()
    verb, tense = draft.choose(REPORTING)
    inner = draft.choose(HOPED if verb is v.ESPERER else SHORT_TENSES if tense == "present" else BYGONE)
    french, english = short(draft, somebody(draft), inner)
    predicate = Predicate(verb, mark, (), (), [("que", that), *french], [("that", that), *english])
    return statement(clause(draft, subject, predicate, tense))


def conjoined(draft: Draft) -> Sides:
    """Because, and, but, when: two clauses of one time."""
    words, english = draft.choose(CONJUNCTIONS)
    tense: Tense = draft.choose(("present", "imperfect", "past")) if words != "quand" else "present"
    mark = draft.mark()
    left, right = short(draft, somebody(draft), tense), short(draft, someone_short(draft), tense)
    link = [(word, mark) for word in words.split()]
    comma = [(",", draft.mark())] if words == "mais" else []
    return [*left[0], *comma, *link, *right[0]], [*left[1], *comma, (english, mark), *right[1]]


def conditional(draft: Draft) -> Sides:
    """ "si tu viens, je serai heureux", "if you come, I will be happy"; "quand tu viendras", "when you come"."""
    mark = draft.mark()
    first, second = someone_short(draft), someone_short(draft)
    if draft.chance(0.6):
        left, link = short(draft, first, "present"), (("si", mark), ("if", mark))
    else:
        left, link = short(draft, first, "future", english_tense="present"), (("quand", mark), ("when", mark))
    right = short(draft, second, "future")
    if draft.chance(0.5):
        comma = (",", draft.mark())
        return [link[0], *left[0], comma, *right[0]], [link[1], *left[1], comma, *right[1]]
    return [*right[0], link[0], *left[0]], [*right[1], link[1], *left[1]]


COMPOUNDS: tuple[tuple[Callable[[Draft], Sides], int], ...] = (
    (relative_first, 5),
    (relative_last, 3),
    (reported, 4),
    (conjoined, 4),
    (conditional, 2),
)

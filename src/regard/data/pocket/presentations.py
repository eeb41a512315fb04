"""Sentences of the pocket corpus without an ordinary subject, and those whose subject changes in translation.

"il y a", "c'est", "voici", the weather; "il s'appelle Paul" ("his name is Paul"); and the verbs that turn the sentence
round: "tu me manques" is "I miss you".
"""

from collections.abc import Callable

from regard.data.pocket import verbs as v
from regard.data.pocket.adverbials import FUTURE, NOW, PAST, TODAY
from regard.data.pocket.clauses import Predicate, Tense, ask, clause, est_ce_que, negation_of, statement
from regard.data.pocket.compounds import subject_relative
from regard.data.pocket.frames import KIN, MEALS, RECIPIENTS
from regard.data.pocket.lexicon import ANIMALS, CLOTHES, GOODS, IDEAS, INSTITUTIONS, PERSONS, READING, ROOMS, SURFACES
from regard.data.pocket.nominals import (
    ARTICLES_OF_OBJECTS,
    SUBJECTS,
    Article,
    Nominal,
    acquaintance,
    name,
    noun_phrase,
    person,
    possessed,
    pronoun_subject,
)
from regard.data.pocket.places import beside, inside, region
from regard.data.pocket.predicates import Sides
from regard.data.pocket.tokens import Draft, FixedPhrase, Token, contract, fixed

TOPICS = (PERSONS, ANIMALS, MEALS, READING, GOODS, CLOTHES, SURFACES, ROOMS, INSTITUTIONS, IDEAS)
THINGS_AROUND = (PERSONS, ANIMALS, READING, GOODS, CLOTHES)
_SOME: tuple[Article, ...] = ("a", "a", "a", "number")
_OWN = ("my", "your", "his", "our", "your", "their")
_WEATHER: tuple[tuple[FixedPhrase, tuple[FixedPhrase, ...]], ...] = tuple(
    (fixed(french, english), when)
    for french, english, when in (
        ("il/1 pleut/2", "it/1 is/2 raining/2", TODAY),
        ("il/1 neige/2", "it/1 is/2 snowing/2", TODAY),
        ("il/1 pleuvait/2", "it/1 was/2 raining/2", PAST),
        ("il/1 neigeait/2", "it/1 was/2 snowing/2", PAST),
        ("il/1 a/2 plu/3", "it/1 rained/23", PAST),
        ("il/1 a/2 neigé/3", "it/1 snowed/23", PAST),
        ("il/1 pleuvra/2", "it/1 will/2 rain/2", FUTURE),
        ("il/1 neigera/2", "it/1 will/2 snow/2", FUTURE),
        ("il/1 va/2 pleuvoir/3", "it/1 is/2 going/2 to/2 rain/3", FUTURE),
        ("il/1 va/2 neiger/3", "it/1 is/2 going/2 to/2 snow/3", FUTURE),
        ("il/1 pleut/2 des/2 cordes/2", "it/1 is/2 raining/2 cats/2 and/2 dogs/2", TODAY),
        ("il/1 pleuvait/2 des/2 cordes/2", "it/1 was/2 raining/2 cats/2 and/2 dogs/2", PAST),
        ("il/1 fait/2 beau/3", "the/1 weather/1 is/2 nice/3", NOW),
        ("il/1 faisait/2 beau/3", "the/1 weather/1 was/2 nice/3", PAST),
        ("il/1 fera/2 beau/3", "the/1 weather/1 will/2 be/2 nice/3", FUTURE),
        ("il/1 fait/2 froid/3", "it/1 is/2 cold/3", NOW),
        ("il/1 faisait/2 froid/3", "it/1 was/2 cold/3", PAST),
        ("il/1 fera/2 froid/3", "it/1 will/2 be/2 cold/3", FUTURE),
        ("il/1 fait/2 chaud/3", "it/1 is/2 hot/3", NOW),
        ("il/1 faisait/2 chaud/3", "it/1 was/2 hot/3", PAST),
        ("il/1 fera/2 chaud/3", "it/1 will/2 be/2 hot/3", FUTURE),
    )
)


def existence(draft: Draft) -> Sides:
    """ "il y a un chat sur la table", "there is a cat on the table"."""
    negative = draft.chance(0.25)
    noun = draft.choose(draft.choose(THINGS_AROUND))
    it = noun_phrase(draft, noun, ("a",) if negative else _SOME, negative=negative)
    place = beside(draft) if noun.kind != "person" else inside(draft) if draft.chance(0.6) else region(draft, "in")
    return (absence_of if negative else existence_of)(draft, it, place)


def _there_is(draft: Draft, it: Nominal) -> tuple[Token, list[Token]]:
    be, tense = draft.mark(), draft.random()
    if tense < 0.65:
        return ("a", be), [(v.BE_PRESENT[it.english_person], be)]
    if tense < 0.85:
        return ("avait", be), [(v.BE_PAST[it.english_person], be)]
    return ("aura", be), [("will", be), ("be", be)]


def existence_of(draft: Draft, it: Nominal, place: Sides) -> Sides:
    there = draft.mark()
    verb, (front, *after) = _there_is(draft, it)
    french = [("il", there), ("y", there), verb, *it.french, *place[0]]
    rest = [("there", there), *after, *it.english, *place[1]]
    if draft.chance(0.2):
        asked = draft.mark()
        question = [("est-ce", asked), ("que", asked), *french]
        return ask(question, [(front[0], front[1] | asked), *rest])
    return french, [rest[0], front, *rest[1:]]


def absence_of(draft: Draft, it: Nominal, place: Sides) -> Sides:
    """ "il n'y a pas de chat", "there is no cat": "ne", "pas" and "de" are "no"."""
    there, no = draft.mark(), draft.mark()
    verb, be = _there_is(draft, it)
    nouns = it.english[1:] if it.person == 2 else it.english  # without "a"
    return (
        [("il", there), ("ne", no), ("y", there), verb, ("pas", no), ("de", no), *it.french[1:], *place[0]],
        [("there", there), *be, ("no", no), *nouns, *place[1]],
    )


def identity(draft: Draft) -> Sides:
    """ "c'est le livre de Marie", "it is Marie's book"; "c'est Paul qui dort", "it is Paul who sleeps"."""
    mark = draft.mark()
    it = Nominal([("ce", mark)], [("it", mark)], 2, 2, False, "thing")
    way = draft.random()
    noun = draft.choose(draft.choose(TOPICS))
    if way < 0.4:
        what = noun_phrase(draft, noun, ARTICLES_OF_OBJECTS, plural=False)
    elif way < 0.75:
        what = possessed(draft, noun, acquaintance(draft))
        if what.person == 5:
            what = noun_phrase(draft, noun, ARTICLES_OF_OBJECTS, plural=False)
    else:
        what = subject_relative(draft, name(draft))
    tense: Tense = "imperfect" if way < 0.75 and draft.chance(0.2) else "present"
    refused = negation_of(draft, "pas", "not") if draft.chance(0.2) else None
    parts = clause(draft, it, Predicate(v.ETRE, draft.mark(), french=what.french, english=what.english), tense, refused)
    if refused is None and draft.chance(0.12):
        return est_ce_que(draft, parts)
    return statement(parts)


def presenting(draft: Draft) -> Sides:
    """ "voici le livre", "here is the book"."""
    mark = draft.mark()
    noun = draft.choose(draft.choose(TOPICS))
    it = possessed(draft, noun, acquaintance(draft)) if draft.chance(0.3) else noun_phrase(draft, noun, adjective=0.3)
    word, english = ("voici", "here") if draft.chance(0.6) else ("voilà", "there")
    return [(word, mark), *it.french], [(english, mark), (v.BE_PRESENT[it.english_person], mark), *it.english]


def weather(draft: Draft) -> Sides:
    phrase, when = draft.choose(_WEATHER)
    french, english = draft.place(phrase)
    if draft.chance(0.5):
        place = region(draft, "in")
        french, english = french + place[0], english + place[1]
    if draft.chance(0.7):
        time = draft.place(draft.choose(when))
        if draft.chance(0.4):
            comma = [(",", draft.mark())] if draft.chance(0.5) else []
            return time[0] + comma + french, time[1] + comma + english
        return french + time[0], english + time[1]
    return french, english


def naming(draft: Draft) -> Sides:
    """ "je m'appelle Paul", "my name is Paul"; "ma sœur s'appelle Anne", "my sister's name is Anne"."""
    called = draft.mark()
    past = draft.chance(0.25)
    forms, be = (v.APPELER.imperfect, "was") if past else (v.APPELER.present, "is")
    if draft.chance(0.5):
        pronoun = draft.choose([row for row in SUBJECTS if row.person < 3 and row.english != "we"])
        subject = pronoun_subject(draft, pronoun)
        own = "her" if subject.feminine and subject.person == 2 else _OWN[subject.person]
        owner: list[Token] = [(own, subject.french[0][1])]
    else:
        noun = draft.choose(PERSONS if draft.chance(0.7) else ANIMALS)
        subject = noun_phrase(draft, noun, ("the", "this", "own"), plural=False, adjective=0.15)
        *front, (last, marks) = subject.english
        owner = [*front, (last + "'s", marks)]
    who = name(draft)
    while subject.kind == "person" and who.feminine != subject.feminine:
        who = name(draft)
    return (
        [*subject.french, (v.REFLEXIVE[subject.person], called), (forms[subject.person], called), *who.french],
        [*owner, ("name", called), (be, called), *who.english],
    )


def reversed_roles(draft: Draft) -> Sides:
    """ "Marie me manque", "I miss Marie"; "le film plaît à Paul", "Paul likes the movie"."""
    verb = draft.choose((v.MANQUER, v.PLAIRE))
    if verb is v.PLAIRE:
        topic = draft.choose((READING, GOODS, CLOTHES, ROOMS, IDEAS, SURFACES))
        missed = noun_phrase(draft, draft.choose(topic), ("the", "the", "this", "own"))
    elif draft.chance(0.4):
        missed = pronoun_subject(draft)
    else:
        missed = person(draft)
    mark, own = draft.mark(), draft.mark()
    if draft.chance(0.6):
        choices = [row for row in RECIPIENTS if row[2] not in KIN[missed.english_person] or not missed.pronoun]
        clitic, _, english_person, _ = draft.choose(choices)
        experiencer = Nominal(
            [(clitic, own)], [(_SUBJECT_OF[english_person], own)], english_person, english_person, False, "person"
        )
        clitics, after = experiencer.french, []
    else:
        experiencer = person(draft)
        clitics, after = [], contract(("à", 0), experiencer.french)
    objects = missed.english
    if missed.pronoun:
        objects = [(_OBJECT_OF[word], marks) for word, marks in objects]
    tense = draft.choose(_FEELING_TENSES)
    refused = negation_of(draft, "pas", "not") if draft.chance(0.2) else None
    predicate = Predicate(verb, mark, clitics, (), after, objects)
    french = statement(clause(draft, missed, predicate, tense, refused))[0]
    english = statement(clause(draft, experiencer, predicate, tense, refused))[1]
    return french, english


_SUBJECT_OF = ("I", "you", "he", "we", "you", "they")
_OBJECT_OF = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them"}
_FEELING_TENSES: tuple[Tense, ...] = ("present", "present", "present", "imperfect", "future")
PRESENTATIONS: tuple[tuple[Callable[[Draft], Sides], int], ...] = (
    (existence, 3),
    (identity, 3),
    (presenting, 2),
    (weather, 2),
    (naming, 1),
    (reversed_roles, 3),
)

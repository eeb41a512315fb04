"""The predicates of the pocket corpus: which verb takes which object, place or recipient, as a noun or as a pronoun.

Each builder returns one `Predicate` for a given subject. The tense is needed only where French hides the gender of an
object pronoun (see `nominals`); it is "infinitive" inside another predicate. Tense, negation and word order of
the whole are not decided here.
"""

from collections.abc import Callable
from typing import Literal

from regard.data.pocket import verbs as v
from regard.data.pocket.adverbials import DEGREE, MANNER, MANNER_OF_OTHERS
from regard.data.pocket.clauses import Predicate, Tense
from regard.data.pocket.frames import (
    ADDRESSING,
    EMBEDDING,
    GAMES,
    GENERIC,
    GIFTS,
    GIVING,
    KIN,
    KNOWN,
    MEALS,
    PERSON_VERBS,
    PRONOUNS,
    RECIPIENTS,
    SKILLS,
    THING_VERBS,
    UNDESIRED,
)
from regard.data.pocket.lexicon import (
    ANIMALS,
    DRINKS,
    LANGUAGES,
    ROOMS,
    Noun,
)
from regard.data.pocket.nominals import (
    ARTICLES_OF_OBJECTS,
    ARTICLES_OF_PLACES,
    Nominal,
    acquaintance,
    noun_phrase,
    person,
    possessed,
)
from regard.data.pocket.places import HOMES, beside, direction, inside, location, origin, region
from regard.data.pocket.tokens import Draft, Token, contract, marked, opens_with_vowel
from regard.data.pocket.verbs import Verb

Form = Tense | Literal["infinitive"]
Builder = Callable[[Draft, Nominal, Form, bool], Predicate]
Sides = tuple[list[Token], list[Token]]


def thing(draft: Draft, noun: Noun, owner: Nominal, negative: bool, generic: bool) -> Nominal:
    if not noun.mass and not generic and draft.chance(0.07):
        return possessed(draft, noun, acquaintance(draft, owner))
    articles = KNOWN if generic else ARTICLES_OF_OBJECTS
    return noun_phrase(draft, noun, articles, owner=owner, negative=negative, generic=generic)


def recipient(draft: Draft, subject: Nominal) -> tuple[Token, Token]:
    """A pronoun for the person to whom: French before the verb, English after it."""
    choices = [row for row in RECIPIENTS if row[2] not in KIN[subject.english_person]]
    french, english, _, _ = draft.choose(choices)
    mark = draft.mark()
    return (french, mark), (english, mark)


def intransitive(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    if form != "infinitive" and form not in ("near", "can", "must") and subject.kind == "person" and draft.chance(0.2):
        verb, mark, own = draft.choose(SKILLS), draft.mark(), draft.mark()
        french, english = draft.choose(DEGREE)
        return Predicate(verb, mark, middle=[(french, own)], english=marked(english.split(), own))
    animal = subject.kind == "animal"
    verb, mark = draft.choose(v.INTRANSITIVE if animal or draft.chance(0.25) else v.HUMAN_INTRANSITIVE), draft.mark()
    clitics = [(v.REFLEXIVE[subject.person], mark)] if verb.reflexive else []
    after: Sides = ([], [])
    if draft.chance(0.3):
        after = draft.place(draft.choose(MANNER if subject.english_person in (0, 3) else MANNER_OF_OTHERS))
    return Predicate(verb, mark, clitics, (), after[0], after[1])


def with_thing(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    verb, nouns = draft.choose(THING_VERBS)
    mark = draft.mark()
    return Predicate(verb, mark, (), (), *thing(draft, draft.choose(nouns), subject, negative, verb in GENERIC)[:2])


def with_thing_pronoun(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """ "je le mange", "I eat it": the participle agrees with the pronoun."""
    verb, _ = draft.choose(THING_VERBS)
    mark, own = draft.mark(), draft.mark()
    agreement = draft.choose((0, 0, 1, 1, 2, 3))
    clitic = ("les" if agreement >= 2 else "la" if agreement else "le", own)
    return Predicate(verb, mark, [clitic], (), (), [("them" if agreement >= 2 else "it", own)], agreement)


def with_person(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    verb, mark = draft.choose(PERSON_VERBS), draft.mark()
    if verb is v.AIMER and draft.chance(0.5):
        someone = thing(draft, draft.choose(MEALS + DRINKS), subject, negative, True)
    elif verb in (v.VOIR, v.CHERCHER, v.REGARDER) and draft.chance(0.4):
        someone = noun_phrase(draft, draft.choose(ANIMALS), owner=subject, negative=negative)
    else:
        someone = person(draft, subject, negative)
    return Predicate(verb, mark, (), (), someone.french, [*someone.english, *marked(verb.tail, mark)])


def with_person_pronoun(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """ "je la vois", "I see her"; "il m'a entarté", "he hit me with a pie"."""
    return person_pronoun(draft, subject, form, draft.choose(PERSON_VERBS))


def person_pronoun(draft: Draft, subject: Nominal, form: Form, verb: Verb) -> Predicate:
    mark, own = draft.mark(), draft.mark()
    if draft.chance(0.5):
        choices = [row for row in PRONOUNS if row[2] not in KIN[subject.english_person]]
        french, english, _, agreement = draft.choose(choices)
        agreement += draft.chance(0.25)
    else:
        agreement = draft.choose((0, 0, 1, 1, 2, 3))
        if agreement == 1 and form != "past" and opens_with_vowel(verb.infinitive):
            agreement = 0  # "l'" hides the gender
        french = "les" if agreement >= 2 else "la" if agreement else "le"
        english = "them" if agreement >= 2 else "her" if agreement else "him"
    return Predicate(verb, mark, [(french, own)], (), (), [(english, own), *marked(verb.tail, mark)], agreement)


def giving(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """ "donner le livre à Marie", "give the book to Marie"; "me donner le livre", "give me the book"."""
    verb, mark = draft.choose(GIVING), draft.mark()
    way = draft.random()
    if way < 0.3:
        french, english, agreement = draft.choose(
            (("le", "it", 0), ("la", "it", 1), ("les", "them", 2), ("les", "them", 3))
        )
        own = draft.mark()
        whom, him = recipient(draft, subject)
        # me le, te le, nous le, vous le; but le lui, le leur
        clitics = [(french, own), whom] if whom[0] in ("lui", "leur") else [whom, (french, own)]
        return Predicate(verb, mark, clitics, (), (), [(english, own), ("to", him[1]), him], agreement)
    gift = noun_phrase(draft, draft.choose(GIFTS), owner=subject, negative=negative)
    if way < 0.65:
        whom, him = recipient(draft, subject)
        return Predicate(verb, mark, [whom], (), gift.french, [him, *gift.english])
    someone, to = person(draft, subject), draft.mark()
    french_to = contract(("à", to), someone.french)
    return Predicate(verb, mark, (), (), [*gift.french, *french_to], [*gift.english, ("to", to), *someone.english])


def addressing(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """ "parler à Marie", "speak to Marie"; "lui parler", "speak to him"."""
    verb, english = draft.choose(ADDRESSING)
    mark = draft.mark()
    if draft.chance(0.5):
        whom, him = recipient(draft, subject)
        return Predicate(verb, mark, [whom], (), (), [*marked(english.split(), him[1]), him])
    someone = person(draft, subject)
    to = draft.mark() if english else 0
    return Predicate(
        verb, mark, (), (), contract(("à", to), someone.french), [*marked(english.split(), to), *someone.english]
    )


def speaking(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    mark, own = draft.mark(), draft.mark()
    french, english = draft.choose(LANGUAGES)
    return Predicate(v.PARLER, mark, (), (), [(french, own)], [(english, own)])


def playing(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    return Predicate(v.JOUER, draft.mark(), (), (), *draft.place(draft.choose(GAMES)))


def moving(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """Going somewhere, coming from somewhere, being or doing something somewhere."""
    mark = draft.mark()
    way = draft.random()
    if way < 0.4:
        return Predicate(v.ALLER, mark, (), (), *direction(draft))
    if way < 0.55:
        return Predicate(v.VENIR, mark, (), (), *origin(draft))
    if way < 0.65:
        room = noun_phrase(draft, draft.choose(ROOMS), ARTICLES_OF_PLACES, owner=subject, plural=False)
        return Predicate(v.ENTRER, mark, (), (), [("dans", 0), *room.french], room.english)
    if way < 0.75:
        return Predicate(v.HABITER, mark, (), (), *(region(draft, "in") if draft.chance(0.6) else inside(draft, HOMES)))
    verb = draft.choose((v.RESTER, *SKILLS))
    return Predicate(verb, mark, (), (), *location(draft))


def putting(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """ "mettre le livre sur la table", "put the book on the table"."""
    mark = draft.mark()
    something = noun_phrase(draft, draft.choose(GIFTS), owner=subject, negative=negative, adjective=0.1)
    french, english = beside(draft)
    return Predicate(v.METTRE, mark, (), (), [*something.french, *french], [*something.english, *english])


def embedding(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    """A verb before another: "vouloir le voir", "want to see him"."""
    verb, link = draft.choose(EMBEDDING[form])
    inner = draft.choose(SIMPLE)(draft, subject, "infinitive", negative)
    while inner.verb in UNDESIRED:
        inner = draft.choose(SIMPLE)(draft, subject, "infinitive", negative)
    mark = draft.mark()
    *noun, particle = link.split() or [""]
    to = draft.mark() if particle else inner.mark
    return Predicate(
        verb,
        mark,
        (),
        (),
        [
            *marked(noun, mark),
            *([(particle, to)] if particle else ()),
            *inner.clitics,
            (inner.verb.infinitive, inner.mark),
            *inner.french,
        ],
        [("to", to), *marked(inner.verb.base, inner.mark), *inner.english],
    )


def animal_predicate(draft: Draft, subject: Nominal, form: Form, negative: bool) -> Predicate:
    way = draft.random()
    mark = draft.mark()
    if way < 0.35:
        return intransitive(draft, subject, form, negative)
    if way < 0.65:
        verb, nouns = draft.choose(((v.MANGER, MEALS), (v.BOIRE, DRINKS), (v.DETESTER, MEALS)))
        food = thing(draft, draft.choose(nouns), subject, negative, verb in GENERIC)
    elif way < 0.85:
        verb = draft.choose((v.VOIR, v.REGARDER, v.CHERCHER, v.ECOUTER, v.ATTENDRE))
        food = (
            person(draft, None, negative)
            if draft.chance(0.5)
            else noun_phrase(draft, draft.choose(ANIMALS), negative=negative)
        )
    else:
        verb = draft.choose((v.INTRANSITIVE[0], v.JOUER, v.RESTER))
        return Predicate(verb, mark, (), (), *location(draft))
    return Predicate(verb, mark, (), (), food.french, food.english)


def company(draft: Draft) -> Sides:
    """With, without or for somebody."""
    mark = draft.mark()
    french, english = draft.choose((("avec", "with"), ("sans", "without"), ("pour", "for")))
    someone = acquaintance(draft)
    return [(french, mark), *someone.french], [(english, mark), *someone.english]


SIMPLE: tuple[Builder, ...] = (
    *(intransitive,) * 6,
    *(with_thing,) * 9,
    *(with_thing_pronoun,) * 3,
    *(with_person,) * 4,
    *(with_person_pronoun,) * 4,
    *(giving,) * 4,
    *(addressing,) * 2,
    *(moving,) * 4,
    *(speaking,) * 2,
    playing,
    putting,
)
# Predicates that may be followed by a place or by company without a second meaning.
OPEN = (with_thing, with_thing_pronoun, with_person, with_person_pronoun, speaking, playing)


def action(draft: Draft, subject: Nominal, form: Tense, negative: bool) -> Predicate:
    """A predicate of a person or an animal."""
    if subject.kind == "animal":
        return animal_predicate(draft, subject, form, negative)
    if form in EMBEDDING and draft.chance(0.13):
        return embedding(draft, subject, form, negative)
    builder = draft.choose(SIMPLE)
    predicate = builder(draft, subject, form, negative)
    if builder in OPEN and draft.chance(0.2):
        french, english = location(draft) if draft.chance(0.6) else company(draft)
        return predicate._replace(french=[*predicate.french, *french], english=[*predicate.english, *english])
    return predicate

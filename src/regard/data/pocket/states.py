"""States of persons and things in the pocket corpus, and the idioms that express them with other verbs.

"être" with adjectives, trades and places; "avoir" where English is ("j'ai faim", "I am hungry"); the verbs that turn
the sentence round ("tu me manques", "I miss you"); and idioms whose words are translated as a whole, all linked to
each other. Tense, negation and questions are put on by `clauses`.
"""

from regard.data.pocket import verbs as v
from regard.data.pocket.adverbials import INTENSITY
from regard.data.pocket.clauses import Predicate
from regard.data.pocket.frames import EVERYDAY, MEALS
from regard.data.pocket.lexicon import (
    ABSOLUTE,
    AGES,
    ANIMALS,
    BY_KIND,
    COMPARABLE,
    NUMBERS,
    PERSONS,
    PROFESSIONS,
    Adjective,
    Noun,
)
from regard.data.pocket.nominals import ARTICLES_OF_OBJECTS, Article, Nominal, name, noun_phrase, person
from regard.data.pocket.places import beside, location
from regard.data.pocket.predicates import recipient
from regard.data.pocket.tokens import Draft, Token, contract, fixed, marked

_SENSATIONS = (
    ("faim", "hungry"),
    ("soif", "thirsty"),
    ("froid", "cold"),
    ("chaud", "hot"),
    ("sommeil", "sleepy"),
    ("peur", "afraid"),
    ("raison", "right"),
    ("tort", "wrong"),
)
_PAINS = (
    fixed("mal/1 à/1 la/1 tête/1", "a/1 headache/1"),
    fixed("mal/1 au/1 dos/1", "a/1 backache/1"),
    fixed("mal/1 aux/1 dents/1", "a/1 toothache/1"),
)
_DEFINITE: tuple[Article, ...] = ("the", "the", "own", "this")


def _degree(draft: Draft, negative: bool) -> tuple[list[Token], list[Token]]:
    # "pas assez" and "pas un peu" mean something else.
    french, english = INTENSITY[0] if negative else draft.choose(INTENSITY)
    mark = draft.mark()
    return marked(french.split(), mark), marked(english.split(), mark)


def attribute(draft: Draft, subject: Nominal, negative: bool, adjective: Adjective | None = None) -> Predicate:
    """ "elle est très grande", "she is very tall"."""
    chosen = adjective or draft.choose(BY_KIND[subject.kind])
    mark, own = draft.mark(), draft.mark()
    french: list[Token] = []
    english: list[Token] = []
    if chosen.forms[0] not in ABSOLUTE and draft.chance(0.3):
        french, english = _degree(draft, negative)
    french = [*french, (chosen.forms[subject.agreement], own)]
    return Predicate(v.ETRE, mark, (), (), french, [*english, (chosen.english[subject.kind], own)])


def profession(draft: Draft, subject: Nominal) -> Predicate:
    """ "je suis étudiant", "I am a student": the English article is linked to the noun that asks for it."""
    pair = draft.choose(PROFESSIONS)
    return profession_of(draft, subject, pair[subject.feminine])


def profession_of(draft: Draft, subject: Nominal, noun: Noun) -> Predicate:
    mark, own = draft.mark(), draft.mark()
    # "on" is singular in French and plural in English.
    french = noun.plural if subject.person >= 3 else noun.singular
    english = noun.english_plural if subject.english_person >= 3 else ("a", *noun.english)
    return Predicate(v.ETRE, mark, (), (), marked(french, own), marked(english, own))


def comparison(draft: Draft, subject: Nominal) -> Predicate:
    """ "elle est plus grande que Paul", "she is taller than Paul"."""
    adjective = draft.choose(COMPARABLE)
    other = person(draft)
    mark, own, degree, than = draft.mark(), draft.mark(), draft.mark(), draft.mark()
    form = (adjective.forms[subject.agreement], own)
    positive = (adjective.english["person"], own)
    way = draft.random()
    if way < 0.6:
        *more, word = adjective.comparative
        english = [*marked(more, degree), (word, own if more else own | degree), ("than", than)]
        french = [("plus", degree), form, ("que", than)]
    elif way < 0.85:
        english = [("as", degree), positive, ("as", than)]
        french = [("aussi", degree), form, ("que", than)]
    else:
        english = [("less", degree), positive, ("than", than)]
        french = [("moins", degree), form, ("que", than)]
    return Predicate(v.ETRE, mark, (), (), [*french, *other.french], [*english, *other.english])


def being_somewhere(draft: Draft, subject: Nominal) -> Predicate:
    return Predicate(v.ETRE, draft.mark(), (), (), *(location(draft) if subject.kind == "person" else beside(draft)))


def sensation(draft: Draft, subject: Nominal, negative: bool) -> Predicate:
    """ "il a très faim", "he is very hungry"."""
    french, english = draft.choose(_SENSATIONS)
    mark, own = draft.mark(), draft.mark()
    before: tuple[list[Token], list[Token]] = ([], [])
    if french not in ("raison", "tort") and draft.chance(0.25):
        own_mark = draft.mark()
        before = [("très", own_mark)], [("very", own_mark)]
    return Predicate(v.AVOIR_BE, mark, (), (), [*before[0], (french, own)], [*before[1], (english, own)])


def age(draft: Draft) -> Predicate:
    """ "il a vingt ans", "he is twenty years old"."""
    french, english = draft.choose(AGES)
    mark, own, years = draft.mark(), draft.mark(), draft.mark()
    return Predicate(
        v.AVOIR_BE,
        mark,
        (),
        (),
        [(french, own), ("ans", years)],
        [*marked(english.split("_"), own), ("years", years), ("old", years)],
    )


def need(draft: Draft, subject: Nominal) -> Predicate:
    """ "j'ai besoin d'un stylo", "I need a pen"."""
    mark = draft.mark()
    noun = draft.choose(EVERYDAY + MEALS)
    # "de" swallows the partitive and the plural article, so only the other determiners are used.
    articles: tuple[Article, ...] = _DEFINITE if noun.mass else (*_DEFINITE, "a", "a")
    something = noun_phrase(draft, noun, articles, owner=subject, plural=False, adjective=0.1)
    return Predicate(
        v.AVOIR_NEED, mark, (), (), [("besoin", mark), *contract(("de", 0), something.french)], something.english
    )


def fear(draft: Draft, subject: Nominal) -> Predicate:
    """ "elle a peur du chien", "she is afraid of the dog"."""
    mark, own, of = draft.mark(), draft.mark(), draft.mark()
    noun = draft.choose(ANIMALS if draft.chance(0.6) else PERSONS)
    it = noun_phrase(draft, noun, _DEFINITE, owner=subject)
    return Predicate(
        v.AVOIR_BE,
        mark,
        (),
        (),
        [("peur", own), *contract(("de", of), it.french)],
        [("afraid", own), ("of", of), *it.english],
    )


def having(draft: Draft, subject: Nominal, negative: bool) -> Predicate:
    """Possession, and the pains that both languages have."""
    mark = draft.mark()
    if draft.chance(0.2):
        return Predicate(v.AVOIR, mark, (), (), *draft.place(draft.choose(_PAINS)))
    noun = draft.choose(EVERYDAY if draft.chance(0.6) else ANIMALS)
    return Predicate(
        v.AVOIR, mark, (), (), *noun_phrase(draft, noun, ARTICLES_OF_OBJECTS, owner=subject, negative=negative)[:2]
    )


def cost(draft: Draft) -> Predicate:
    mark = draft.mark()
    if draft.chance(0.4):
        return Predicate(
            v.COUTER,
            mark,
            (),
            (),
            marked(("les", "yeux", "de", "la", "tête"), mark),
            marked(("a", "arm", "and", "a", "leg"), mark),
        )
    french, english = draft.choose(NUMBERS)
    own, money = draft.mark(), draft.mark()
    return Predicate(
        v.COUTER, mark, (), (), [(french, own), ("euros", money)], [*marked(english.split("_"), own), ("euros", money)]
    )


def idiom(draft: Draft, subject: Nominal) -> Predicate:
    """Idioms of persons: their French words say one thing together, and all of them are linked to it."""
    mark = draft.mark()
    way = draft.random()
    if way < 0.2:
        return Predicate(v.TOMBER_FAINT, mark, (), (), marked(("dans", "les", "pommes"), mark))
    if way < 0.4:
        return Predicate(v.FAIRE_SLEEP, mark, (), (), marked(("la", "grasse", "matinée"), mark))
    if way < 0.6:
        return Predicate(v.AVOIR_FEEL, mark, (), (), marked(("le", "cafard"), mark), [("blue", mark)])
    if way < 0.8:
        return _standing_up(draft, subject, mark)
    return _annoying(draft, subject, mark)


def _standing_up(draft: Draft, subject: Nominal, mark: int) -> Predicate:
    """ "elle m'a posé un lapin", "she stood me up"."""
    rabbit, up = marked(("un", "lapin"), mark), ("up", mark)
    if draft.chance(0.6):
        whom, him = recipient(draft, subject)
        return Predicate(v.POSER_STAND, mark, [whom], (), rabbit, [him, up])
    someone = person(draft)
    return Predicate(
        v.POSER_STAND, mark, (), (), [*rabbit, *contract(("à", 0), someone.french)], [*someone.english, up]
    )


def _annoying(draft: Draft, subject: Nominal, mark: int) -> Predicate:
    """ "il me casse les pieds", "he gets on my nerves"."""
    feet, nerves = marked(("les", "pieds"), mark), ("nerves", mark)
    if draft.chance(0.6):
        whom, (object_form, own) = recipient(draft, subject)
        possessive = {"me": "my", "you": "your", "him": "his", "us": "our", "them": "their"}[object_form]
        return Predicate(v.CASSER_GET, mark, [whom], (), feet, [(possessive, own), nerves])
    someone = name(draft)
    ((word, own),) = someone.english
    return Predicate(
        v.CASSER_GET, mark, (), (), [*feet, *contract(("à", own), someone.french)], [(word + "'s", own), nerves]
    )

"""Where things happen in the pocket corpus: being somewhere, going there, coming from there.

French "à Paris" and "à la gare" say both where one is and where one goes; the verb decides between English in, at and
to, so each phrase is asked for by its meaning. Nothing is known here of verbs.
"""

from collections.abc import Sequence

from regard.data.pocket.lexicon import COUNTRIES, INSTITUTIONS, ROOMS, SURFACES, TOWNS, Noun
from regard.data.pocket.nominals import ARTICLES_OF_PLACES, Article, name, noun_phrase, person
from regard.data.pocket.tokens import Draft, Token, contract, marked

Sides = tuple[list[Token], list[Token]]

FIXED = ROOMS + INSTITUTIONS
HOMES = tuple(noun for noun in ROOMS if noun.english[0] in ("house", "city", "village", "castle", "hotel", "apartment"))
PREPOSITIONS = (("sur", "on"), ("sous", "under"), ("devant", "in front of"), ("derrière", "behind"))
PROXIMITY = (("près", "near"), ("à côté", "next to"))
_KNOWN: tuple[Article, ...] = ("the", "the", "the", "own", "this")


def _before(draft: Draft, french: str, english: str, noun: Noun, articles: Sequence[Article]) -> Sides:
    mark = draft.mark()
    place = noun_phrase(draft, noun, articles, plural=draft.chance(0.12), adjective=0.12)
    *front, last = french.split()
    return [*marked(front, mark), *contract((last, mark), place.french)], [
        *marked(english.split(), mark),
        *place.english,
    ]


def region(draft: Draft, english: str) -> Sides:
    """A town or a country, with the English preposition that the verb asks for."""
    place = draft.choose(TOWNS if draft.chance(0.5) else COUNTRIES)
    mark, own = draft.mark(), draft.mark()
    return [(place.at, mark), (place.french, own)], [(english, mark), (place.english, own)]


def inside(draft: Draft, nouns: Sequence[Noun] = ROOMS) -> Sides:
    return _before(draft, "dans", "in", draft.choose(nouns), ARTICLES_OF_PLACES)


def beside(draft: Draft) -> Sides:
    """On, under, in front of, behind or next to a piece of furniture, or in a room."""
    way = draft.random()
    if way < 0.25:
        return inside(draft)
    if way < 0.4:
        french, english = draft.choose(PROXIMITY)
        return _before(draft, french + " de", english, draft.choose(SURFACES + FIXED), _KNOWN)
    french, english = draft.choose(PREPOSITIONS)
    return _before(draft, french, english, draft.choose(SURFACES), ARTICLES_OF_PLACES)


def location(draft: Draft) -> Sides:
    """Where somebody is."""
    way = draft.random()
    if way < 0.3:
        return region(draft, "in")
    if way < 0.5:
        return inside(draft)
    if way < 0.82:
        return _before(draft, "à", "at", draft.choose(INSTITUTIONS), _KNOWN)
    if way < 0.9:
        return beside(draft)
    host = name(draft) if draft.chance(0.5) else person(draft)
    mark = draft.mark()
    *front, (last, marks) = host.english
    ending = "'" if host.person >= 3 and last.endswith("s") else "'s"
    return [("chez", mark), *host.french], [("at", mark), *front, (last + ending, marks), ("house", mark)]


def direction(draft: Draft) -> Sides:
    """Where somebody goes."""
    if draft.chance(0.5):
        return region(draft, "to")
    return _before(draft, "à", "to", draft.choose(INSTITUTIONS), _KNOWN)


def origin(draft: Draft) -> Sides:
    """Where somebody comes from."""
    if draft.chance(0.4):
        return _before(draft, "de", "from", draft.choose(INSTITUTIONS), _KNOWN)
    place = draft.choose(TOWNS if draft.chance(0.5) else COUNTRIES)
    mark, own = draft.mark(), draft.mark()
    return [(place.source, mark), (place.french, own)], [("from", mark), (place.english, own)]

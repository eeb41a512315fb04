"""The nominals of the pocket corpus: pronouns, names and noun phrases, built in French and English at once.

Conventions where French leaves a choice open, so that every French sentence has one translation:
- il and elle are persons (he, she); on is we; tu and vous are you; vous is plural in its agreement.
- son, sa, ses belong to the subject of the clause, a third person singular whose gender decides between his and her.
- an object pronoun of a verb that is said of things is "it", of persons him or her; where the gender cannot be seen
  (lui, or l' before a verb without a participle that agrees) it is him.
- the definite article after a verb of taste is general: "il aime les pommes", "he loves apples".
- de, des and the partitive article have no English counterpart and are linked to nothing; an English article without a
  French one is linked to its noun.

Nothing is known here of verbs.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from regard.data.pocket.lexicon import ANIMALS, BY_KIND, NAMES, NUMBERS, PERSONS, TASTES, Adjective, Kind, Noun
from regard.data.pocket.tokens import Draft, Token, contract, marked, opens_with_vowel

Article = Literal["the", "a", "this", "own", "number"]


class Nominal(NamedTuple):
    """A phrase that can be a subject or an object. Persons are rows of a conjugation: 0 je .. 5 ils, 0 I .. 5 they."""

    french: list[Token]
    english: list[Token]
    person: int
    english_person: int
    feminine: bool
    kind: Kind
    pronoun: str = ""  # the French subject pronoun, if it is one

    @property
    def agreement(self) -> int:
        """The column of an adjective's or participle's four forms."""
        return (2 if self.person >= 3 else 0) + self.feminine


class Pronoun(NamedTuple):
    french: str
    english: str
    person: int
    english_person: int
    gender: bool | None  # feminine, or None where the word does not tell


_SUBJECTS = (
    Pronoun("je", "I", 0, 0, None),
    Pronoun("tu", "you", 1, 1, None),
    Pronoun("il", "he", 2, 2, False),
    Pronoun("elle", "she", 2, 2, True),
    Pronoun("nous", "we", 3, 3, None),
    Pronoun("vous", "you", 4, 4, None),
    Pronoun("ils", "they", 5, 5, False),
    Pronoun("elles", "they", 5, 5, True),
    Pronoun("on", "we", 2, 3, False),
)
# Weighted: the pronouns that people use most come most often.
SUBJECTS = tuple(
    pronoun for pronoun, weight in zip(_SUBJECTS, (4, 3, 4, 3, 3, 3, 2, 1, 1), strict=True) for _ in range(weight)
)
POSSESSIVES = (
    (("mon", "ma", "mes"), "my"),
    (("ton", "ta", "tes"), "your"),
    (("notre", "notre", "nos"), "our"),
    (("votre", "votre", "vos"), "your"),
    (("leur", "leur", "leurs"), "their"),
)
ARTICLES_OF_TOPICS: tuple[Article, ...] = ("the",) * 10 + ("this",) * 3 + ("own",) * 5
ARTICLES_OF_SUBJECTS: tuple[Article, ...] = ARTICLES_OF_TOPICS + ("a",) * 2 + ("number",) * 2
ARTICLES_OF_OBJECTS: tuple[Article, ...] = ("the",) * 8 + ("a",) * 8 + ("this",) * 3 + ("own",) * 5 + ("number",) * 3
ARTICLES_OF_PLACES: tuple[Article, ...] = ("the",) * 8 + ("this",) * 2 + ("own",) * 2 + ("a",)


def pronoun_subject(draft: Draft, pronoun: Pronoun | None = None) -> Nominal:
    chosen = pronoun or draft.choose(SUBJECTS)
    mark = draft.mark()
    feminine = draft.chance(0.3) if chosen.gender is None else chosen.gender
    return Nominal(
        [(chosen.french, mark)],
        [(chosen.english, mark)],
        chosen.person,
        chosen.english_person,
        feminine,
        "person",
        chosen.french,
    )


def name(draft: Draft) -> Nominal:
    word, feminine = draft.choose(NAMES)
    while word in draft.named:
        word, feminine = draft.choose(NAMES)
    draft.named.append(word)
    mark = draft.mark()
    return Nominal([(word, mark)], [(word, mark)], 2, 2, feminine, "person")


def _determiner(
    draft: Draft, article: Article, noun: Noun, plural: bool, following: str, negative: bool, owner: Nominal | None
) -> tuple[list[Token], list[Token]]:
    """The words before a noun phrase whose first French word is `following`."""
    mark = draft.mark()
    vowel = opens_with_vowel(following)
    if article == "number":
        french, english = draft.choose(NUMBERS)
        return [(french, mark)], marked(english.split("_"), mark)
    if article == "the":
        return [("les" if plural else "la" if noun.feminine else "le", mark)], [("the", mark)]
    if article == "this":
        word = "ces" if plural else "cette" if noun.feminine else "cet" if vowel else "ce"
        return [(word, mark)], [("these" if plural else "this", mark)]
    if article == "own":
        forms, english = draft.choose(POSSESSIVES)
        if (
            owner is not None
            and owner.kind == "person"
            and owner.person == owner.english_person == 2
            and draft.chance(0.6)
        ):
            forms, english = ("son", "sa", "ses"), "her" if owner.feminine else "his"
        return [(forms[2 if plural else 1 if noun.feminine and not vowel else 0], mark)], [(english, mark)]
    if noun.mass:
        if negative:
            return [("de", 0)], []
        if noun.feminine or vowel:
            return [("de", 0), ("la" if noun.feminine else "le", 0)], []
        return [("du", 0)], []
    if plural:
        # The plural article gives way to "de" before an adjective: "de petites maisons".
        return [("de" if negative or following not in noun.plural else "des", 0)], []
    return [("de" if negative else "une" if noun.feminine else "un", mark)], [("a", mark)]


def fitting(draft: Draft, noun: Noun) -> Adjective:
    """An adjective that may be said of the noun."""
    return draft.choose(TASTES if noun.edible else BY_KIND[noun.kind])


def noun_phrase(
    draft: Draft,
    noun: Noun,
    articles: Sequence[Article] = ARTICLES_OF_OBJECTS,
    *,
    owner: Nominal | None = None,
    negative: bool = False,
    generic: bool = False,
    plural: bool | None = None,
    adjective: float = 0.27,
) -> Nominal:
    """A determiner, a noun and perhaps an adjective.

    `owner` is the subject that "son" refers to. `negative` turns the indefinite articles into "de". `generic` leaves the
    English article out: "il aime les pommes", "he loves apples".
    """
    article = draft.choose(articles)
    if article == "number" and (noun.mass or plural is False):
        article = "the"
    elif article == "own" and not noun.owned:
        article = "this"
    many = not noun.mass and (article == "number" or (draft.chance(0.3) if plural is None else plural))
    if negative and article == "a" and noun.singular == noun.plural:
        many = False  # "pas de souris" does not tell
    mark = draft.mark()
    french = marked(noun.plural if many else noun.singular, mark)
    english = marked(noun.english_plural if many else noun.english, mark)
    if draft.chance(adjective):
        chosen = fitting(draft, noun)
        own = draft.mark()
        form = chosen.forms[2 * many + noun.feminine]
        if chosen.before:
            if not many and not noun.feminine and opens_with_vowel(french[0][0]):
                form = chosen.liaison
            french.insert(0, (form, own))
        else:
            french.append((form, own))
        english.insert(0, (chosen.english[noun.kind], own))
    before, front = _determiner(draft, article, noun, many, french[0][0], negative, owner)
    if generic and article == "the" and (many or noun.mass):
        before, front = [(before[0][0], 0)], []
    return Nominal(before + french, front + english, 5 if many else 2, 5 if many else 2, noun.feminine, noun.kind)


def person(
    draft: Draft,
    owner: Nominal | None = None,
    negative: bool = False,
    articles: Sequence[Article] = ARTICLES_OF_SUBJECTS,
) -> Nominal:
    """Somebody: a name or a noun phrase."""
    if draft.chance(0.27):
        return name(draft)
    noun = draft.choose(PERSONS)
    return noun_phrase(draft, noun, articles, owner=owner, negative=negative, adjective=0.15)


def acquaintance(draft: Draft, owner: Nominal | None = None) -> Nominal:
    """Somebody known: "de" and "sans" do not go with "des"."""
    return person(draft, owner, articles=ARTICLES_OF_TOPICS)


def possessed(draft: Draft, noun: Noun, whose: Nominal) -> Nominal:
    """ "le livre de Marie", "Marie's book": the article and "de" are what English says by 's."""
    many = not noun.mass and draft.chance(0.3)
    own, mark = draft.mark(), draft.mark()
    article = ("les" if many else "la" if noun.feminine else "le", own)
    words = marked(noun.plural if many else noun.singular, mark)
    *front, (last, marks) = whose.english
    ending = "'" if whose.person >= 3 and last.endswith("s") else "'s"
    return Nominal(
        [article, *words, *contract(("de", own), whose.french)],
        [*front, (last + ending, marks | own), *marked(noun.english_plural if many else noun.english, mark)],
        5 if many else 2,
        5 if many else 2,
        noun.feminine,
        noun.kind,
    )


def couple(draft: Draft) -> Nominal:
    """ "Paul et Marie": a plural, masculine unless both are women."""
    first, second, mark = name(draft), name(draft), draft.mark()
    return Nominal(
        [*first.french, ("et", mark), *second.french],
        [*first.english, ("and", mark), *second.english],
        5,
        5,
        first.feminine and second.feminine,
        "person",
    )


def someone(draft: Draft) -> Nominal:
    """A person as a subject: mostly a pronoun, else a name, two names or a noun phrase."""
    way = draft.random()
    if way < 0.62:
        return pronoun_subject(draft)
    return couple(draft) if way < 0.68 else person(draft)


def somebody(draft: Draft) -> Nominal:
    """A subject that can act: a person or an animal."""
    if draft.chance(0.88):
        return someone(draft)
    return noun_phrase(draft, draft.choose(ANIMALS), ARTICLES_OF_SUBJECTS, adjective=0.15)

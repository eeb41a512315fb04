"""The words of the pocket corpus other than its verbs: nouns, adjectives, names, numbers and fixed adverbials.

The tables are written to be read and extended by people; the plurals that follow a rule are computed. An underscore
joins the words of one entry ("pomme_de_terre"); a slash gives an irregular plural. Each French entry has one English
translation (for some adjectives one for persons and one for things), so that a sentence has only one translation.
Which words go together in a sentence is not decided here.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["person", "animal", "thing", "idea"]
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity
class Noun:
    singular: Words
    plural: Words
    feminine: bool
    english: Words
    english_plural: Words
    kind: Kind
    mass: bool = False
    edible: bool = False
    owned: bool = True  # whether "my" may stand before it: "ma femme" is a wife, not a woman


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    forms: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    liaison: str  # masculine before a vowel: "un vieil homme"
    before: bool  # before its noun in French
    english: dict[Kind, str]
    comparative: Words  # English, of persons; empty where the corpus does not compare


@dataclass(frozen=True, slots=True)
class Place:
    """A town or a country: "à Paris", "en France", "au Canada"."""

    french: str
    english: str
    at: str  # the preposition of being there and of going there
    source: str  # the preposition of coming from there


def french_plural(word: str) -> str:
    if word.endswith(("s", "x")):
        return word
    return word + ("x" if word.endswith(("eau", "jeu")) else "s")


def english_plural(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeo" else word + "s"


def _nouns(table: str, kind: Kind, *, mass: bool = False, edible: bool = False, owned: bool = True) -> tuple[Noun, ...]:
    nouns = []
    for entry in table.replace("\n", " ").split(","):
        french, gender, english = entry.split()
        singular, _, plural = french.partition("/")
        one, _, many = english.partition("/")
        head, *rest = singular.split("_")
        *front, last = one.split("_")
        nouns.append(
            Noun(
                singular=(head, *rest),
                plural=tuple(plural.split("_")) if plural else (french_plural(head), *rest),
                feminine=gender == "f",
                english=(*front, last),
                english_plural=tuple(many.split("_")) if many else (*front, english_plural(last)),
                kind=kind,
                mass=mass,
                edible=edible,
                owned=owned,
            )
        )
    return tuple(nouns)


PEOPLE = _nouns(
    "homme m man/men, femme f woman/women, garçon m boy, fille f girl, enfant m child/children, bébé m baby, "
    "roi m king, reine f queen",
    "person",
    owned=False,
)
RELATIONS = _nouns(
    "père m father, mère f mother, frère m brother, sœur f sister, oncle m uncle, tante f aunt, ami m friend, "
    "amie f friend, voisin m neighbor, voisine f neighbor, fils m son, grand-mère/grands-mères f grandmother",
    "person",
)
# What a man and what a woman says after "je suis": trades with a feminine of their own, and trades without.
_MEN = _nouns(
    "étudiant m student, avocat m lawyer, infirmier m nurse, acteur m actor, chanteur m singer, musicien m musician, "
    "boulanger m baker",
    "person",
)
_WOMEN = _nouns(
    "étudiante f student, avocate f lawyer, infirmière f nurse, actrice f actress, chanteuse f singer, "
    "musicienne f musician, boulangère f baker",
    "person",
)
_BOTH = _nouns(
    "professeur m teacher, médecin m doctor, ingénieur m engineer, journaliste m journalist, dentiste m dentist, "
    "soldat m soldier",
    "person",
)
TRADES = _MEN + _WOMEN + _BOTH
PROFESSIONS = (*zip(_MEN, _WOMEN, strict=True), *zip(_BOTH, _BOTH, strict=True))
ANIMALS = _nouns(
    "chat m cat, chien m dog, cheval/chevaux m horse, oiseau m bird, souris f mouse/mice, vache f cow, "
    "mouton m sheep/sheep, lapin m rabbit, loup m wolf/wolves, ours m bear, éléphant m elephant, hibou/hiboux m owl",
    "animal",
)
FOOD = _nouns(
    "pomme f apple, orange f orange, banane f banana, gâteau m cake, tarte f pie, œuf m egg, légume m vegetable, "
    "tomate f tomato/tomatoes, fraise f strawberry, pomme_de_terre f potato/potatoes, haricot m bean",
    "thing",
    edible=True,
)
STAPLES = _nouns(
    "pain m bread, fromage m cheese, riz m rice, viande f meat, soupe f soup, chocolat m chocolate, "
    "glace f ice_cream, poisson m fish",
    "thing",
    mass=True,
    edible=True,
)
DRINKS = _nouns(
    "eau f water, lait m milk, café m coffee, thé m tea, vin m wine, bière f beer",
    "thing",
    mass=True,
    edible=True,
)
READING = _nouns(
    "livre m book, lettre f letter, journal/journaux m newspaper, poème m poem, histoire f story, article m article",
    "idea",
)
GOODS = _nouns(
    "stylo m pen, clé f key, sac m bag, téléphone m phone, montre f watch, parapluie m umbrella, bouteille f bottle, "
    "verre m glass, couteau m knife/knives, lampe f lamp, boîte f box, photo f photo, ordinateur m computer, "
    "vélo m bicycle, jouet m toy, cadeau m gift, fleur f flower, guitare f guitar",
    "thing",
)
CLOTHES = _nouns(
    "robe f dress, chemise f shirt, chapeau m hat, manteau m coat, écharpe f scarf/scarves, veste f jacket", "thing"
)
SURFACES = _nouns("table f table, chaise f chair, lit m bed, voiture f car, bateau m boat", "thing")
OPENINGS = _nouns("porte f door, fenêtre f window, valise f suitcase", "thing")
ROOMS = _nouns(
    "maison f house, jardin m garden, cuisine f kitchen, chambre f bedroom, rue f street, ville f city, forêt f forest, "
    "parc m park, hôtel m hotel, salle_de_bain f bathroom",
    "thing",
)
INSTITUTIONS = _nouns(
    "école f school, marché m market, gare f station, hôpital/hôpitaux m hospital, restaurant m restaurant, "
    "cinéma m cinema, université f university, plage f beach, banque f bank, musée m museum, église f church",
    "thing",
)
IDEAS = _nouns(
    "question f question, réponse f answer, problème m problem, idée f idea, leçon f lesson, film m movie, "
    "chanson f song",
    "idea",
)
PERSONS = PEOPLE + RELATIONS + TRADES
ALL_NOUNS = (
    *PERSONS,
    *ANIMALS,
    *FOOD,
    *STAPLES,
    *DRINKS,
    *READING,
    *GOODS,
    *CLOTHES,
    *SURFACES,
    *OPENINGS,
    *ROOMS,
    *INSTITUTIONS,
    *IDEAS,
)


def _adjectives(table: str, *kinds: Kind, before: bool = False) -> tuple[Adjective, ...]:
    """Entries "masculine[/feminine[/masculine plural/liaison]] for persons[|for others][>comparative]"."""
    adjectives = []
    for entry in table.replace("\n", " ").split(","):
        french, english = entry.split()
        masculine, *others = french.split("/")
        feminine = others[0] if others else masculine + ("" if masculine.endswith("e") else "e")
        plural = others[1] if len(others) > 1 else french_plural(masculine)
        liaison = others[2] if len(others) > 2 else masculine
        words, _, comparative = english.partition(">")
        readings = words.split("|")
        adjectives.append(
            Adjective(
                forms=(masculine, feminine, plural, feminine + "s"),
                liaison=liaison,
                before=before,
                english={kind: readings[0] if kind == "person" else readings[-1] for kind in kinds},
                comparative=tuple(comparative.split("_")) if comparative else (),
            )
        )
    return tuple(adjectives)


ADJECTIVES = (
    *_adjectives(
        "grand tall|big>taller, petit short|small>shorter, beau/belle/beaux/bel beautiful>more_beautiful, "
        "vieux/vieille/vieux/vieil old>older, nouveau/nouvelle/nouveaux/nouvel new, bon/bonne good",
        "person",
        "animal",
        "thing",
        "idea",
        before=True,
    ),
    *_adjectives("jeune young>younger", "person", "animal", before=True),
    *_adjectives("long/longue long", "idea", before=True),
    *_adjectives(
        "triste sad>sadder, fatigué tired>more_tired, malade sick, intelligent smart>smarter, "
        "gentil/gentille kind>kinder, méchant mean, fort strong>stronger, drôle funny>funnier, timide shy>shyer, "
        "courageux/courageuse brave>braver",
        "person",
        "animal",
    ),
    *_adjectives(
        "riche rich>richer, pauvre poor>poorer, célèbre famous>more_famous, heureux/heureuse happy>happier, "
        "fâché angry, prêt ready, occupé busy>busier, français French, anglais English, italien/italienne Italian, "
        "espagnol Spanish",
        "person",
    ),
    *_adjectives("noir black, blanc/blanche white, gris gray, étrange strange, sale dirty", "animal", "thing"),
    *_adjectives("rouge red, bleu blue, vert green, cher/chère expensive, lourd heavy", "thing"),
    *_adjectives("utile useful, important important, intéressant interesting", "thing", "idea"),
    *_adjectives("facile easy, difficile difficult", "idea"),
)
TASTES = (
    *_adjectives("bon/bonne good", "thing", before=True),
    *_adjectives("délicieux/délicieuse delicious, chaud hot, froid cold, sucré sweet, salé salty", "thing"),
)
# Adjectives that do not go with "very".
ABSOLUTE = frozenset(
    [
        "rouge",
        "bleu",
        "vert",
        "noir",
        "blanc",
        "gris",
        "français",
        "anglais",
        "italien",
        "espagnol",
        "nouveau",
        "délicieux",
    ]
)
BY_KIND: dict[Kind, tuple[Adjective, ...]] = {
    "person": tuple(adjective for adjective in ADJECTIVES if "person" in adjective.english),
    "animal": tuple(adjective for adjective in ADJECTIVES if "animal" in adjective.english),
    "thing": tuple(adjective for adjective in ADJECTIVES if "thing" in adjective.english),
    # Twice where the adjective has no other nouns to go with.
    "idea": tuple(
        adjective
        for adjective in ADJECTIVES
        if "idea" in adjective.english
        for _ in range(2 if len(adjective.english) == 1 else 1)
    ),
}
COMPARABLE = tuple(adjective for adjective in ADJECTIVES if adjective.comparative)

# A name is the same in both languages; the second field says whether it is a woman's.
NAMES = (
    ("Paul", False),
    ("Marie", True),
    ("Pierre", False),
    ("Sophie", True),
    ("Luc", False),
    ("Claire", True),
    ("Antoine", False),
    ("Anne", True),
)

NUMBERS = (
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("six", "six"),
    ("sept", "seven"),
    ("huit", "eight"),
    ("neuf", "nine"),
    ("dix", "ten"),
    ("onze", "eleven"),
    ("vingt", "twenty"),
    ("trente", "thirty"),
    ("cinquante", "fifty"),
    ("quatre-vingts", "eighty"),
    ("quatre-vingt-dix", "ninety"),
    ("cent", "one_hundred"),
)
HOURS = NUMBERS[:10]
AGES = NUMBERS[8:]


def _places(table: str, at: str, source: str) -> tuple[Place, ...]:
    pairs = [entry.split() for entry in table.split(",")]
    return tuple(Place(french, english, at, source) for french, english in pairs)


TOWNS = _places("Paris Paris, Lyon Lyon, Londres London, Rome Rome, Bruxelles Brussels", "à", "de")
COUNTRIES = (
    *_places("France France, Italie Italy, Espagne Spain, Angleterre England", "en", "de"),
    *_places("Canada Canada, Japon Japan", "au", "du"),
)
LANGUAGES = (("français", "French"), ("anglais", "English"), ("espagnol", "Spanish"), ("italien", "Italian"))

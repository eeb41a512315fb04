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
    "dame f lady, roi m king, reine f queen, client m customer, touriste m tourist, voleur m thief/thieves",
    "person",
    owned=False,
)
RELATIONS = _nouns(
    "père m father, mère f mother, frère m brother, sœur f sister, oncle m uncle, tante f aunt, cousin m cousin, "
    "cousine f cousin, ami m friend, amie f friend, voisin m neighbor, voisine f neighbor, fils m son, mari m husband, "
    "grand-père/grands-pères m grandfather, grand-mère/grands-mères f grandmother, patron m boss",
    "person",
)
# What a man and what a woman says after "je suis": trades with a feminine of their own, and trades without.
_MEN = _nouns(
    "étudiant m student, avocat m lawyer, infirmier m nurse, boulanger m baker, acteur m actor, chanteur m singer, "
    "serveur m waiter, musicien m musician, cuisinier m cook, fermier m farmer, coiffeur m hairdresser, danseur m dancer",
    "person",
)
_WOMEN = _nouns(
    "étudiante f student, avocate f lawyer, infirmière f nurse, boulangère f baker, actrice f actress, "
    "chanteuse f singer, serveuse f waitress, musicienne f musician, cuisinière f cook, fermière f farmer, "
    "coiffeuse f hairdresser, danseuse f dancer",
    "person",
)
_BOTH = _nouns(
    "professeur m teacher, médecin m doctor, ingénieur m engineer, journaliste m journalist, écrivain m writer, "
    "dentiste m dentist, architecte m architect, soldat m soldier, pilote m pilot",
    "person",
)
TRADES = _MEN + _WOMEN + _BOTH
PROFESSIONS = (*zip(_MEN, _WOMEN, strict=True), *zip(_BOTH, _BOTH, strict=True))
ANIMALS = _nouns(
    "chat m cat, chien m dog, cheval/chevaux m horse, oiseau m bird, souris f mouse/mice, vache f cow, "
    "mouton m sheep/sheep, lapin m rabbit, poule f hen, canard m duck, cochon m pig, lion m lion, loup m wolf/wolves, "
    "ours m bear, singe m monkey, renard m fox, tortue f turtle, chèvre f goat, éléphant m elephant, "
    "hibou/hiboux m owl",
    "animal",
)
FOOD = _nouns(
    "pomme f apple, orange f orange, banane f banana, gâteau m cake, tarte f pie, œuf m egg, légume m vegetable, "
    "tomate f tomato/tomatoes, carotte f carrot, cerise f cherry, fraise f strawberry, poire f pear, "
    "pomme_de_terre f potato/potatoes, sandwich m sandwich, croissant m croissant, citron m lemon, haricot m bean, "
    "crêpe f pancake, biscuit m cookie, oignon m onion",
    "thing",
    edible=True,
)
STAPLES = _nouns(
    "pain m bread, fromage m cheese, beurre m butter, riz m rice, viande f meat, soupe f soup, chocolat m chocolate, "
    "sucre m sugar, confiture f jam, miel m honey, glace f ice_cream, poisson m fish",
    "thing",
    mass=True,
    edible=True,
)
DRINKS = _nouns(
    "eau f water, lait m milk, café m coffee, thé m tea, vin m wine, bière f beer, jus m juice",
    "thing",
    mass=True,
    edible=True,
)
READING = _nouns(
    "livre m book, lettre f letter, journal/journaux m newspaper, poème m poem, histoire f story, roman m novel, "
    "message m message, article m article",
    "idea",
)
GOODS = _nouns(
    "stylo m pen, clé f key, sac m bag, téléphone m phone, montre f watch, parapluie m umbrella, bouteille f bottle, "
    "verre m glass, tasse f cup, assiette f plate, couteau m knife/knives, lampe f lamp, boîte f box, bague f ring, "
    "photo f photo, ordinateur m computer, vélo m bicycle, ballon m ball, jouet m toy, cadeau m gift, fleur f flower, "
    "miroir m mirror, billet m ticket, tableau m painting, cahier m notebook, crayon m pencil, guitare f guitar, "
    "horloge f clock",
    "thing",
)
CLOTHES = _nouns(
    "robe f dress, chemise f shirt, chapeau m hat, manteau m coat, jupe f skirt, écharpe f scarf/scarves, "
    "veste f jacket, cravate f tie, pull m sweater",
    "thing",
)
SURFACES = _nouns("table f table, chaise f chair, lit m bed, tapis m carpet, voiture f car, bateau m boat", "thing")
OPENINGS = _nouns("porte f door, fenêtre f window, armoire f wardrobe, valise f suitcase", "thing")
ROOMS = _nouns(
    "maison f house, jardin m garden, cuisine f kitchen, chambre f bedroom, rue f street, ville f city, forêt f forest, "
    "village m village, parc m park, magasin m store, hôtel m hotel, salle_de_bain f bathroom, château m castle, "
    "bureau m office, appartement m apartment",
    "thing",
)
INSTITUTIONS = _nouns(
    "école f school, marché m market, gare f station, hôpital/hôpitaux m hospital, restaurant m restaurant, "
    "cinéma m cinema, théâtre m theater, université f university, plage f beach, banque f bank, "
    "bibliothèque f library, musée m museum, piscine f swimming_pool, église f church, aéroport m airport, "
    "boulangerie f bakery, usine f factory",
    "thing",
)
IDEAS = _nouns(
    "question f question, réponse f answer, problème m problem, idée f idea, leçon f lesson, mot m word, film m movie, "
    "chanson f song, jeu m game, règle f rule",
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
        "vieux/vieille/vieux/vieil old>older, nouveau/nouvelle/nouveaux/nouvel new, bon/bonne good, mauvais bad",
        "person",
        "animal",
        "thing",
        "idea",
        before=True,
    ),
    *_adjectives("joli pretty", "animal", "thing", before=True),
    *_adjectives("jeune young>younger", "person", "animal", before=True),
    *_adjectives("long/longue long", "idea", before=True),
    *_adjectives(
        "triste sad>sadder, fatigué tired>more_tired, malade sick, intelligent smart>smarter, "
        "gentil/gentille kind>kinder, méchant mean, fort strong>stronger, faible weak>weaker, drôle funny>funnier, "
        "calme calm>calmer, timide shy>shyer, courageux/courageuse brave>braver, paresseux/paresseuse lazy>lazier, "
        "jaloux/jalouse jealous>more_jealous",
        "person",
        "animal",
    ),
    *_adjectives(
        "riche rich>richer, pauvre poor>poorer, célèbre famous>more_famous, heureux/heureuse happy>happier, "
        "fâché angry, inquiet/inquiète worried, prêt ready, occupé busy>busier, sérieux/sérieuse serious>more_serious, "
        "fier/fière proud, poli polite>more_polite, français French, anglais English, allemand German, "
        "italien/italienne Italian, espagnol Spanish, américain American, japonais Japanese",
        "person",
    ),
    *_adjectives(
        "noir black, blanc/blanche white, gris gray, étrange strange, propre clean, sale dirty", "animal", "thing"
    ),
    *_adjectives(
        "rouge red, bleu blue, vert green, jaune yellow, cher/chère expensive, moderne modern, lourd heavy",
        "thing",
    ),
    *_adjectives("utile useful, parfait perfect, important important, intéressant interesting", "thing", "idea"),
    *_adjectives("facile easy, difficile difficult, court short, ennuyeux/ennuyeuse boring", "idea"),
)
TASTES = (
    *_adjectives("bon/bonne good, mauvais bad", "thing", before=True),
    *_adjectives(
        "délicieux/délicieuse delicious, chaud hot, froid cold, frais/fraîche fresh, sucré sweet, salé salty", "thing"
    ),
)
_COLORS = ("rouge", "bleu", "vert", "jaune", "noir", "blanc", "gris")
_NATIONS = ("français", "anglais", "allemand", "italien", "espagnol", "américain", "japonais")
# Adjectives that do not go with "very".
ABSOLUTE = frozenset([*_COLORS, *_NATIONS, "nouveau", "parfait", "délicieux"])
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
    ("Julie", True),
    ("Jean", False),
    ("Claire", True),
    ("Thomas", False),
    ("Anne", True),
    ("Antoine", False),
    ("Léa", True),
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
    ("douze", "twelve"),
    ("quinze", "fifteen"),
    ("vingt", "twenty"),
    ("trente", "thirty"),
    ("quarante", "forty"),
    ("cinquante", "fifty"),
    ("soixante", "sixty"),
    ("soixante-dix", "seventy"),
    ("quatre-vingts", "eighty"),
    ("quatre-vingt-dix", "ninety"),
    ("cent", "one_hundred"),
    ("mille", "one_thousand"),
)
HOURS = NUMBERS[:10]
AGES = NUMBERS[8:21]


def _places(table: str, at: str, source: str) -> tuple[Place, ...]:
    pairs = [entry.split() for entry in table.split(",")]
    return tuple(Place(french, english, at, source) for french, english in pairs)


TOWNS = _places(
    "Paris Paris, Lyon Lyon, Londres London, Rome Rome, Bruxelles Brussels, Genève Geneva, Montréal Montreal, Nice Nice",
    "à",
    "de",
)
COUNTRIES = (
    *_places(
        "France France, Italie Italy, Espagne Spain, Angleterre England, Allemagne Germany, Chine China", "en", "de"
    ),
    *_places("Canada Canada, Japon Japan, Mexique Mexico", "au", "du"),
)
LANGUAGES = (
    ("français", "French"),
    ("anglais", "English"),
    ("espagnol", "Spanish"),
    ("italien", "Italian"),
    ("allemand", "German"),
    ("japonais", "Japanese"),
    ("chinois", "Chinese"),
)

"""Which verb of the pocket corpus takes what: the tables that predicates and questions are drawn from.

A verb that stands in a table twice is drawn twice as often. How a verb and its objects are put together is told in
`predicates`.
"""

from regard.data.pocket import verbs as v
from regard.data.pocket.lexicon import (
    CLOTHES,
    DRINKS,
    FOOD,
    GOODS,
    IDEAS,
    INSTITUTIONS,
    OPENINGS,
    READING,
    ROOMS,
    STAPLES,
    SURFACES,
    Noun,
)
from regard.data.pocket.nominals import Article
from regard.data.pocket.tokens import fixed
from regard.data.pocket.verbs import Verb

MEALS = FOOD + STAPLES
EVERYDAY = GOODS + CLOTHES
# Verbs said of things, with the things they are said of; their object pronoun is "it".
THING_VERBS: tuple[tuple[Verb, tuple[Noun, ...]], ...] = (
    (v.MANGER, MEALS),
    (v.MANGER, MEALS),
    (v.BOIRE, DRINKS),
    (v.LIRE, READING),
    (v.ECRIRE, READING),
    (v.ACHETER, EVERYDAY + SURFACES),
    (v.ACHETER, MEALS),
    (v.VENDRE, EVERYDAY + SURFACES + READING),
    (v.PRENDRE, EVERYDAY),
    (v.PERDRE, EVERYDAY),
    (v.TROUVER, EVERYDAY + IDEAS),
    (v.PORTER, CLOTHES),
    (v.OUVRIR, OPENINGS),
    (v.FERMER, OPENINGS),
    (v.FINIR, READING + IDEAS),
    (v.CHOISIR, EVERYDAY + IDEAS),
    (v.VISITER, ROOMS + INSTITUTIONS),
    (v.COMPRENDRE, IDEAS + READING),
    (v.VOULOIR, EVERYDAY + MEALS + DRINKS),
    (v.OUBLIER, EVERYDAY + IDEAS),
    (v.DETESTER, MEALS + DRINKS),
)
# Verbs said of persons; their object pronoun is him or her.
PERSON_VERBS = (
    v.VOIR,
    v.AIMER,
    v.REGARDER,
    v.CHERCHER,
    v.AIDER,
    v.INVITER,
    v.ATTENDRE,
    v.ECOUTER,
    v.CONNAITRE,
    v.ENTARTER,
)
# Verbs of taste take the definite article in general: "il aime le pain", "he loves bread".
KNOWN: tuple[Article, ...] = ("the", "the", "this", "own")
GENERIC = (v.AIMER, v.DETESTER)
GIVING = (v.DONNER, v.MONTRER, v.ENVOYER, v.PRETER, v.APPORTER)
GIFTS = GOODS + READING + CLOTHES
# Verbs with "à" and a person, and the preposition of the English verb.
ADDRESSING = (
    (v.PARLER, "to"),
    (v.REPONDRE, "to"),
    (v.ECRIRE, "to"),
    (v.TELEPHONER, ""),
)
GAMES = (
    fixed("au football/1", "football/1"),
    fixed("au tennis/1", "tennis/1"),
    fixed("aux échecs/1", "chess/1"),
    fixed("aux cartes/1", "cards/1"),
    fixed("du/1 piano/2", "the/1 piano/2"),
    fixed("de/1 la/1 guitare/2", "the/1 guitar/2"),
)
SKILLS = tuple(
    verb
    for verb in v.INTRANSITIVE + v.HUMAN_INTRANSITIVE
    if verb.infinitive in ("dormir", "nager", "jouer", "travailler", "danser", "chanter")
)
# Verbs before an infinitive, the French word between them, and the tenses in which both languages say the same.
EMBEDDING: dict[str, tuple[tuple[Verb, str], ...]] = {
    "present": (
        (v.VOULOIR, ""),
        (v.VOULOIR, ""),
        (v.AIMER, ""),
        (v.SAVOIR_FAIRE, ""),
        (v.ESSAYER, "de"),
        (v.COMMENCER, "à"),
        (v.OUBLIER, "de"),
        (v.AVOIR_NEED, "besoin de"),
    ),
    "past": ((v.ESSAYER, "de"), (v.COMMENCER, "à"), (v.OUBLIER, "de")),
    "imperfect": ((v.VOULOIR, ""), (v.SAVOIR_FAIRE, ""), (v.AVOIR_NEED, "besoin de")),
    "future": ((v.ESSAYER, "de"), (v.COMMENCER, "à"), (v.OUBLIER, "de"), (v.AVOIR_NEED, "besoin de")),
}
# What nobody decides or learns to do.
UNDESIRED = (v.CONNAITRE, v.VOULOIR, v.DETESTER)
# Object pronouns: French, English, person, column of the participle's agreement if masculine.
PRONOUNS = (("me", "me", 0, 0), ("te", "you", 1, 0), ("nous", "us", 3, 2), ("vous", "you", 4, 2))
RECIPIENTS = (*PRONOUNS, ("lui", "him", 2, 0), ("leur", "them", 5, 0))
# Whom a subject does not act upon with these verbs: that would be a reflexive.
KIN = {0: (0, 3), 1: (1, 4), 2: (), 3: (0, 3), 4: (1, 4), 5: ()}

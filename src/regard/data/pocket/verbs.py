"""The verbs of the pocket corpus, conjugated in both languages: forms only.

French endings are computed from the three regular groups; verbs off the pattern name their present, their future stem
and their participle. English is computed from the base and, where irregular, the past. What a verb may take as an
object, and how its words are ordered in a sentence, is not known here.
"""

from dataclasses import dataclass

Six = tuple[str, str, str, str, str, str]  # je, tu, il, nous, vous, ils
Four = tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
Words = tuple[str, ...]

REFLEXIVE: Six = ("me", "te", "se", "nous", "vous", "se")
BE_PRESENT: Six = ("am", "are", "is", "are", "are", "are")
BE_PAST: Six = ("was", "were", "was", "were", "were", "were")


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity
class Verb:
    """One French verb and its English counterpart; the English forms are tuples of words ("go", "to", "bed")."""

    infinitive: str
    present: Six
    imperfect: Six
    future: Six
    participle: Four
    with_etre: bool
    reflexive: bool
    base: Words
    third: Words
    past: Words
    gerund: Words
    tail: Words  # English words after the object: hit him "with a pie"
    stative: bool  # the imparfait is a simple past ("he knew"), not a progressive ("he was eating")
    perfect: bool  # the passé composé says the same as the English past; "il a connu" is rather "he met"


def _add(stem: str, endings: str) -> Six:
    a, b, c, d, e, f = (stem + ending.strip("-") for ending in endings.split())
    return a, b, c, d, e, f


def _first_group(infinitive: str) -> tuple[Six, str, str]:
    """Present, future stem and participle of a verb in -er, with the changes of its stem."""
    stem = infinitive[:-2]
    soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)  # mangeons, commençons
    strong, future = stem, infinitive
    if infinitive.endswith("yer"):
        strong = stem[:-1] + "i"  # j'essaie, j'essaierai
        future = "enverr" if infinitive == "envoyer" else strong + "er"
    elif infinitive.endswith("eler"):
        strong = stem + "l"  # j'appelle, j'appellerai
        future = strong + "er"
    elif infinitive.endswith(("ever", "ener", "eter")):
        strong = stem[:-2] + "è" + stem[-1]  # je lève, je lèverai
        future = strong + "er"
    elif infinitive.endswith("érer"):
        strong = stem[:-2] + "èr"  # je préfère, but je préférerai
    return (strong + "e", strong + "es", strong + "e", soft + "ons", stem + "ez", strong + "ent"), future, stem + "é"


def _regular(infinitive: str) -> tuple[Six, str, str]:
    stem = infinitive[:-2]
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    if infinitive.endswith("ir"):
        return _add(stem, "is is it issons issez issent"), infinitive, stem + "i"
    return _add(stem, "s s - ons ez ent"), infinitive[:-1], stem + "u"


def _imperfect(infinitive: str, present: Six) -> Six:
    stem = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    # The soft letter of mangeais and commençais is not needed before an i: mangions, commencions.
    plain = infinitive[:-2] if infinitive.endswith("er") else stem
    return (stem + "ais", stem + "ais", stem + "ait", plain + "ions", plain + "iez", stem + "aient")


def _third(base: str) -> str:
    if base in ("have", "go", "be"):
        return {"have": "has", "go": "goes", "be": "is"}[base]
    if base.endswith(("s", "sh", "ch", "x")):
        return base + "es"
    return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeou" else base + "s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeou" else base + "ed"


def _gerund(base: str) -> str:
    if base in ("run", "swim", "get", "put", "cut", "forget", "begin", "hit", "prefer"):
        return base + base[-1] + "ing"
    return base[:-1] + "ing" if base.endswith("e") and not base.endswith(("ee", "be")) else base + "ing"


def verb(
    french: str,
    english: str,
    past: str = "",
    *,
    present: str = "",
    future: str = "",
    participle: str = "",
    etre: bool = False,
    tail: str = "",
    stative: bool = False,
    perfect: bool = True,
) -> Verb:
    """Conjugate a verb; `present` gives the six irregular forms, `past` the irregular English past of the first word."""
    infinitive = french.removeprefix("se ").removeprefix("s'")
    forms, stem, past_participle = _regular(infinitive)
    if present:
        a, b, c, d, e, f = present.split()
        forms = (a, b, c, d, e, f)
    past_participle = participle or past_participle
    plural = past_participle if past_participle.endswith("s") else past_participle + "s"
    first, *rest = english.split()
    return Verb(
        infinitive=infinitive,
        present=forms,
        imperfect=_imperfect(infinitive, forms),
        future=_add(future or stem, "ai as a ons ez ont"),
        participle=(past_participle, past_participle + "e", plural, past_participle + "es"),
        with_etre=etre or infinitive != french,
        reflexive=infinitive != french,
        base=(first, *rest),
        third=(_third(first), *rest),
        past=(past or _past(first), *rest),
        gerund=(_gerund(first), *rest),
        tail=tuple(tail.split()),
        stative=stative,
        perfect=perfect,
    )


ETRE = verb(
    "être",
    "be",
    "was",
    present="suis es est sommes êtes sont",
    future="ser",
    participle="été",
    stative=True,
    perfect=False,
)
AVOIR = verb(
    "avoir", "have", "had", present="ai as a avons avez ont", future="aur", participle="eu", stative=True, perfect=False
)
ALLER = verb("aller", "go", "went", present="vais vas va allons allez vont", future="ir", etre=True)
# French "have" where English says otherwise: "il a faim", "il a besoin de pain", "il a le cafard".
AVOIR_BE = verb(
    "avoir", "be", "was", present="ai as a avons avez ont", future="aur", participle="eu", stative=True, perfect=False
)
AVOIR_NEED = verb(
    "avoir", "need", present="ai as a avons avez ont", future="aur", participle="eu", stative=True, perfect=False
)
AVOIR_FEEL = verb(
    "avoir",
    "feel",
    "felt",
    present="ai as a avons avez ont",
    future="aur",
    participle="eu",
    stative=True,
    perfect=False,
)
# The modals are used in the present only, where English "can" and "must" have one form.
POUVOIR = verb(
    "pouvoir", "can", "could", present="peux peux peut pouvons pouvez peuvent", future="pourr", participle="pu"
)
DEVOIR = verb("devoir", "must", "must", present="dois dois doit devons devez doivent", future="devr", participle="dû")
ENTARTER = verb("entarter", "hit", "hit", tail="with a pie")

JOUER = verb("jouer", "play")
INTRANSITIVE = (
    verb("dormir", "sleep", "slept", present="dors dors dort dormons dormez dorment", participle="dormi"),
    verb(
        "courir", "run", "ran", present="cours cours court courons courez courent", future="courr", participle="couru"
    ),
    verb("nager", "swim", "swam"),
    verb("marcher", "walk"),
    verb("tomber", "fall", "fell", etre=True),
    verb("arriver", "arrive", etre=True),
    JOUER,
)
HUMAN_INTRANSITIVE = (
    verb("travailler", "work"),
    verb("danser", "dance"),
    verb("chanter", "sing", "sang"),
    verb("rire", "laugh", present="ris ris rit rions riez rient", future="rir", participle="ri"),
    verb("pleurer", "cry"),
    verb("voyager", "travel"),
    verb("partir", "leave", "left", present="pars pars part partons partez partent", participle="parti", etre=True),
    verb("sortir", "go out", "went", present="sors sors sort sortons sortez sortent", participle="sorti", etre=True),
    verb("se lever", "get up", "got"),
    verb("se coucher", "go to bed", "went"),
    verb("se promener", "go for a walk", "went"),
)

MANGER = verb("manger", "eat", "ate")
BOIRE = verb("boire", "drink", "drank", present="bois bois boit buvons buvez boivent", participle="bu")
LIRE = verb("lire", "read", "read", present="lis lis lit lisons lisez lisent", participle="lu")
ECRIRE = verb(
    "écrire",
    "write",
    "wrote",
    present="écris écris écrit écrivons écrivez écrivent",
    future="écrir",
    participle="écrit",
)
ACHETER = verb("acheter", "buy", "bought")
VENDRE = verb("vendre", "sell", "sold")
PRENDRE = verb("prendre", "take", "took", present="prends prends prend prenons prenez prennent", participle="pris")
COMPRENDRE = verb(
    "comprendre",
    "understand",
    "understood",
    present="comprends comprends comprend comprenons comprenez comprennent",
    participle="compris",
    stative=True,
)
PERDRE = verb("perdre", "lose", "lost")
TROUVER = verb("trouver", "find", "found")
PORTER = verb("porter", "wear", "wore")
OUVRIR = verb("ouvrir", "open", present="ouvre ouvres ouvre ouvrons ouvrez ouvrent", participle="ouvert")
FERMER = verb("fermer", "close")
FINIR = verb("finir", "finish")
CHOISIR = verb("choisir", "choose", "chose")
VISITER = verb("visiter", "visit")
METTRE = verb("mettre", "put", "put", present="mets mets met mettons mettez mettent", future="mettr", participle="mis")
VOULOIR = verb(
    "vouloir",
    "want",
    present="veux veux veut voulons voulez veulent",
    future="voudr",
    participle="voulu",
    stative=True,
    perfect=False,
)
DETESTER = verb("détester", "hate", stative=True)
PARLER = verb("parler", "speak", "spoke")
HABITER = verb("habiter", "live")
RESTER = verb("rester", "stay", etre=True)
ENTRER = verb("entrer", "enter", etre=True)
VENIR = verb(
    "venir",
    "come",
    "came",
    present="viens viens vient venons venez viennent",
    future="viendr",
    participle="venu",
    etre=True,
)

VOIR = verb(
    "voir", "see", "saw", present="vois vois voit voyons voyez voient", future="verr", participle="vu", stative=True
)
AIMER = verb("aimer", "love", stative=True)
REGARDER = verb("regarder", "look at")
CHERCHER = verb("chercher", "look for")
AIDER = verb("aider", "help")
INVITER = verb("inviter", "invite")
ATTENDRE = verb("attendre", "wait for")
ECOUTER = verb("écouter", "listen to")
APPELER = verb("appeler", "call")
CONNAITRE = verb(
    "connaître",
    "know",
    "knew",
    present="connais connais connaît connaissons connaissez connaissent",
    future="connaîtr",
    participle="connu",
    stative=True,
    perfect=False,
)

DONNER = verb("donner", "give", "gave")
MONTRER = verb("montrer", "show")
ENVOYER = verb("envoyer", "send", "sent")
PRETER = verb("prêter", "lend", "lent")
APPORTER = verb("apporter", "bring", "brought")

REPONDRE = verb("répondre", "reply")
TELEPHONER = verb("téléphoner", "telephone")

ESSAYER = verb("essayer", "try")
COMMENCER = verb("commencer", "begin", "began")
OUBLIER = verb("oublier", "forget", "forgot")
ESPERER = verb("espérer", "hope")
SAVOIR = verb(
    "savoir", "know", "knew", present="sais sais sait savons savez savent", future="saur", participle="su", stative=True
)
SAVOIR_FAIRE = verb(
    "savoir",
    "know how",
    "knew",
    present="sais sais sait savons savez savent",
    future="saur",
    participle="su",
    stative=True,
)
PENSER = verb("penser", "think", "thought", stative=True)
DIRE = verb("dire", "say", "said", present="dis dis dit disons dites disent", future="dir", participle="dit")
COUTER = verb("coûter", "cost", "cost", stative=True)
MANQUER = verb("manquer", "miss", stative=True)
PLAIRE = verb("plaire", "like", present="plais plais plaît plaisons plaisez plaisent", participle="plu", stative=True)
# Idioms: the French verb brings further words, the English one says the whole.
FAIRE_SLEEP = verb(
    "faire", "sleep in", "slept", present="fais fais fait faisons faites font", future="fer", participle="fait"
)
TOMBER_FAINT = verb("tomber", "faint", etre=True)
POSER_STAND = verb("poser", "stand", "stood", tail="up")
CASSER_GET = verb("casser", "get on", "got")

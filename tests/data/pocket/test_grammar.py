"""French and English forms, and the grammar of a large sample.

The properties (elision, contraction, a and an, agreement of the English verb) are written here from the grammar book,
not from the generator's own tables.
"""

import re
from itertools import pairwise

import pytest

from regard.data.pocket import verbs as v
from regard.data.pocket.commands import imperative
from regard.data.pocket.corpus import PocketPair
from regard.data.pocket.lexicon import ALL_NOUNS
from regard.data.pocket.tokens import contract, elide

# Forms from the grammar book: (infinitive, person, present, imperfect, future).
CONJUGATED = (
    (v.MANGER, 3, "mangeons", "mangions", "mangerons"),
    (v.COMMENCER, 0, "commence", "commençais", "commencerai"),
    (v.APPELER, 5, "appellent", "appelaient", "appelleront"),
    (v.ACHETER, 1, "achètes", "achetais", "achèteras"),
    (v.ESPERER, 2, "espère", "espérait", "espérera"),
    (v.ENVOYER, 2, "envoie", "envoyait", "enverra"),
    (v.ESSAYER, 5, "essaient", "essayaient", "essaieront"),
    (v.FINIR, 4, "finissez", "finissiez", "finirez"),
    (v.VENDRE, 2, "vend", "vendait", "vendra"),
    (v.PRENDRE, 5, "prennent", "prenaient", "prendront"),
    (v.BOIRE, 3, "buvons", "buvions", "boirons"),
    (v.VOIR, 4, "voyez", "voyiez", "verrez"),
    (v.CONNAITRE, 2, "connaît", "connaissait", "connaîtra"),
    (v.FAIRE_SLEEP, 4, "faites", "faisiez", "ferez"),
    (v.DIRE, 4, "dites", "disiez", "direz"),
    (v.ALLER, 5, "vont", "allaient", "iront"),
    (v.ETRE, 3, "sommes", "étions", "serons"),
    (v.AVOIR, 2, "a", "avait", "aura"),
    (v.VENIR, 5, "viennent", "venaient", "viendront"),
    (v.SAVOIR, 0, "sais", "savais", "saurai"),
    (v.METTRE, 2, "met", "mettait", "mettra"),
    (v.OUVRIR, 1, "ouvres", "ouvrais", "ouvriras"),
)


@pytest.mark.parametrize(("verb", "person", "present", "imperfect", "future"), CONJUGATED)
def test_french_conjugation(verb: v.Verb, person: int, present: str, imperfect: str, future: str) -> None:
    assert (verb.present[person], verb.imperfect[person], verb.future[person]) == (present, imperfect, future)


def test_participles_and_imperatives() -> None:
    assert v.PRENDRE.participle == ("pris", "prise", "pris", "prises")
    assert v.VOIR.participle == ("vu", "vue", "vus", "vues")
    assert [imperative(verb, 1) for verb in (v.MANGER, v.ALLER, v.OUVRIR, v.FINIR, v.VENDRE)] == [
        "mange",
        "va",
        "ouvre",
        "finis",
        "vends",
    ]
    assert imperative(v.DIRE, 4) == "dites"


def test_english_verbs() -> None:
    forms = {
        verb.base: (verb.third, verb.past, verb.gerund)
        for verb in (v.ACHETER, v.FINIR, v.METTRE, v.ESSAYER, v.REGARDER)
    }
    assert forms == {
        ("buy",): (("buys",), ("bought",), ("buying",)),
        ("finish",): (("finishes",), ("finished",), ("finishing",)),
        ("put",): (("puts",), ("put",), ("putting",)),
        ("try",): (("tries",), ("tried",), ("trying",)),
        ("look", "at"): (("looks", "at"), ("looked", "at"), ("looking", "at")),
    }


def test_elision_unites_words_and_marks() -> None:
    assert elide([("je", 1), ("ne", 2), ("le", 4), ("ai", 8), ("pas", 2)]) == [
        ("je", 1),
        ("ne", 2),
        ("l'ai", 12),
        ("pas", 2),
    ]
    assert elide([("si", 1), ("il", 2)]) == [("s'il", 3)]
    assert elide([("si", 1), ("elle", 2)]) == [("si", 1), ("elle", 2)]
    assert elide([("le", 1), ("hibou", 2), ("de", 4)]) == [("le", 1), ("hibou", 2), ("de", 4)]


def test_contraction_spares_the_elided_article() -> None:
    assert contract(("de", 1), [("le", 2), ("roi", 4)]) == [("du", 3), ("roi", 4)]
    assert contract(("à", 1), [("les", 2), ("amis", 4)]) == [("aux", 3), ("amis", 4)]
    assert contract(("de", 1), [("le", 2), ("homme", 4)]) == [("de", 1), ("le", 2), ("homme", 4)]
    assert contract(("à", 1), [("la", 2), ("gare", 4)]) == [("à", 1), ("la", 2), ("gare", 4)]


def vowel(word: str) -> bool:
    return re.match("[aeiouyhâàéèêëîïôûœ]", word.lower()) is not None and not re.match("haricot|hibou|huit|onze", word)


ELIDING = {"le", "la", "je", "me", "te", "se", "ne", "de", "que", "ce", "ma", "ta", "sa"}


def test_elision_everywhere(bare_sample: list[PocketPair]) -> None:
    men = {noun.singular[0] for noun in ALL_NOUNS if not noun.feminine and noun.singular != noun.plural}
    for pair in bare_sample:
        words = pair.french.split()
        for first, second in pairwise(words):
            assert not (first in ELIDING and vowel(second)), pair
            assert not (first in {"beau", "nouveau", "vieux"} and second in men and vowel(second)), pair
            assert not (first in {"bel", "nouvel", "vieil", "cet"} and not vowel(second)), pair
            assert (first, second) not in {("si", "il"), ("si", "ils")}, pair
        for word in words:
            stem, apostrophe, rest = word.partition("'")
            assert not apostrophe or word == "aujourd'hui" or stem in {*"ljmtsndc", "qu"}, pair
            assert not apostrophe or vowel(rest), pair


def test_contraction_everywhere(bare_sample: list[PocketPair]) -> None:
    """ "de le" and "à les" stand only before an infinitive: "essayer de le voir"."""
    for pair in bare_sample:
        for following in re.findall(r"\b(?:à|de) les? (?:lui |leur )?(\S+)", pair.french):
            assert following.endswith(("er", "ir", "re")), pair
        assert not re.search(r"\b(?:de|sans) (?:des|du|de|d'\w+)\b|plus plus", pair.french), pair


def test_a_and_an_everywhere(bare_sample: list[PocketPair]) -> None:
    for pair in bare_sample:
        for article, word in re.findall(r"\b(an?) (\w+)", pair.english):
            assert (article == "an") == (word[0].lower() in "aeiou" and not word.startswith(("uni", "use"))), pair


def test_english_verbs_agree_everywhere(bare_sample: list[PocketPair]) -> None:
    verbs = [
        verb
        for entry in vars(v).values()
        for verb in (entry if isinstance(entry, tuple) else (entry,))
        if isinstance(verb, v.Verb)
    ]
    pasts = {verb.past[0] for verb in verbs}
    bases = {verb.base[0] for verb in verbs} - pasts - {"can", "must"}
    thirds = {verb.third[0] for verb in verbs}
    for pair in bare_sample:
        words = pair.english.split()
        if pair.english.endswith("?"):
            continue
        for first, second in pairwise(words):
            assert not (first in {"he", "she"} and second in {*bases, "am", "are", "were", "do"}), pair
            assert not (first in {"I", "we", "they"} and second in thirds), pair
            assert (first, second) not in {("I", "are"), ("I", "is"), ("we", "am"), ("they", "was"), ("we", "was")}, (
                pair
            )

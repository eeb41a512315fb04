"""The pocket corpus: sentences checked by hand with their alignments, and properties over large samples.

The properties (elision, contraction, a and an, agreement of the English verb) are written here from the grammar book,
not from the generator's own tables.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import islice, pairwise
from random import Random

import pytest

from regard.data.pocket import verbs as v
from regard.data.pocket.clauses import Predicate, Tense, clause, est_ce_que, invert, negation_of, statement
from regard.data.pocket.commands import command, imperative
from regard.data.pocket.compounds import conditional, object_relative, subject_relative
from regard.data.pocket.corpus import MAX_WORDS, MIN_WORDS, PocketPair, pocket_pairs, pocket_split, write
from regard.data.pocket.lexicon import ADJECTIVES, ALL_NOUNS, COUNTRIES, LANGUAGES, NAMES, NUMBERS, TASTES, TOWNS, Noun
from regard.data.pocket.nominals import SUBJECTS, Article, Nominal, name, noun_phrase, possessed, pronoun_subject
from regard.data.pocket.places import direction
from regard.data.pocket.predicates import Sides, giving, person_pronoun
from regard.data.pocket.presentations import absence_of, existence_of, reversed_roles
from regard.data.pocket.questions import about_object
from regard.data.pocket.sentences import TEMPLATES, thrown_pie
from regard.data.pocket.states import age, attribute, comparison, idiom
from regard.data.pocket.tokens import Draft, contract, elide
from regard.errors import DataError

SAMPLE = 20_000
PRONOUN = {pronoun.french: pronoun for pronoun in SUBJECTS}
NOUN = {noun.singular[0]: noun for noun in ALL_NOUNS}
Scene = Callable[[Draft], Sides]


@pytest.fixture(scope="module")
def sample() -> list[PocketPair]:
    return list(islice(pocket_pairs(seed=11), SAMPLE))


def draw(scene: Scene, french: str) -> PocketPair:
    """Draw from a narrow scene until it says the sentence; the words that chance leaves open are few."""
    generator = Random(5)
    for _ in range(20_000):
        pair = write(*scene(Draft(generator)))
        if pair.french == french:
            return pair
    raise AssertionError(f"never said: {french}")


def pharaoh(pair: PocketPair) -> str:
    return " ".join(f"{i}-{j}" for i, j in sorted(pair.alignment))


def says(subject: str, predicate: Callable[[Draft, Nominal], Predicate], tense: Tense = "present") -> Scene:
    def scene(draft: Draft) -> Sides:
        who = pronoun_subject(draft, PRONOUN[subject])
        return statement(clause(draft, who, predicate(draft, who), tense))

    return scene


def denies(
    subject: str, predicate: Callable[[Draft], Predicate], words: tuple[str, str], tense: Tense = "present"
) -> Scene:
    def scene(draft: Draft) -> Sides:
        who = pronoun_subject(draft, PRONOUN[subject])
        return statement(clause(draft, who, predicate(draft), tense, negation_of(draft, *words)))

    return scene


def takes(
    verb: v.Verb, noun: str, article: Article, *, negative: bool = False, adjective: float = 0.0
) -> Callable[..., Predicate]:
    def build(draft: Draft, _: Nominal | None = None) -> Predicate:
        it = noun_phrase(
            draft, NOUN[noun], (article,), negative=negative, plural=article == "number", adjective=adjective
        )
        return Predicate(verb, draft.mark(), (), (), it.french, it.english)

    return build


def bare(verb: v.Verb) -> Callable[..., Predicate]:
    return lambda draft, _=None: Predicate(verb, draft.mark())


def asks(order: Callable[..., Sides], subject: str, verb: v.Verb, tense: Tense, *question: str) -> Scene:
    def scene(draft: Draft) -> Sides:
        mark = draft.mark()
        parts = clause(draft, pronoun_subject(draft, PRONOUN[subject]), Predicate(verb, draft.mark()), tense)
        return order(draft, parts, *([(word, mark)] for word in question))

    return scene


def described(subject: Callable[[Draft], Nominal]) -> Scene:
    def scene(draft: Draft) -> Sides:
        it = subject(draft)
        return statement(clause(draft, it, attribute(draft, it, False), "present"))

    return scene


def the(draft: Draft, noun: Noun) -> Nominal:
    return noun_phrase(draft, noun, ("the",), plural=False, adjective=0.0)


def some(draft: Draft, noun: Noun, negative: bool = False) -> Nominal:
    return noun_phrase(draft, noun, ("a",), plural=False, negative=negative, adjective=0.0)


def of_marie(draft: Draft) -> Sides:
    mark = draft.mark()
    it = Nominal([("ce", mark)], [("it", mark)], 2, 2, False, "thing")
    what = possessed(draft, NOUN["livre"], name(draft))
    return statement(clause(draft, it, Predicate(v.ETRE, draft.mark(), (), (), what.french, what.english), "present"))


DORMIR = v.INTRANSITIVE[0]
HAND_CHECKED: tuple[tuple[Scene, str, str, str], ...] = (
    # negation: both halves are "not", the finite verb is "does", the partitive is nothing
    (
        denies("il", takes(v.MANGER, "pain", "a", negative=True), ("pas", "not")),
        "il ne mange pas de pain",
        "he does not eat bread",
        "0-0 1-2 2-1 2-3 3-2 5-4",
    ),
    (
        denies("elle", bare(DORMIR), ("jamais", "never"), "past"),
        "elle n'a jamais dormi",
        "she never slept",
        "0-0 1-1 1-2 2-1 3-2",
    ),
    (
        denies("nous", bare(DORMIR), ("plus", "no longer")),
        "nous ne dormons plus",
        "we no longer sleep",
        "0-0 1-1 1-2 2-3 3-1 3-2",
    ),
    (
        denies("je", bare(v.VENIR), ("pas", "not"), "can"),
        "je ne peux pas venir",
        "I cannot come",
        "0-0 1-1 2-1 3-1 4-2",
    ),
    # clitic pronouns go before the verb and come back behind it
    (says("je", lambda d, s: person_pronoun(d, s, "present", v.VOIR)), "je la vois", "I see her", "0-0 1-2 2-1"),
    (
        says("elle", lambda d, s: person_pronoun(d, s, "past", v.AIDER), "past"),
        "elle l'a aidée",
        "she helped her",
        "0-0 1-1 1-2 2-1",
    ),
    (
        says("il", lambda d, s: giving(d, s, "present", False)),
        "il me le donne",
        "he gives it to me",
        "0-0 1-3 1-4 2-2 3-1",
    ),
    (
        says("tu", lambda d, s: giving(d, s, "future", False), "future"),
        "tu le lui montreras",
        "you will show it to him",
        "0-0 1-3 2-4 2-5 3-1 3-2",
    ),
    # adjectives follow their noun, or precede it and link to its vowel
    (
        says("je", takes(v.VOIR, "chat", "the", adjective=1.0)),
        "je vois le chat noir",
        "I see the black cat",
        "0-0 1-1 2-2 3-4 4-3",
    ),
    (
        says("je", takes(v.VOIR, "homme", "a", adjective=1.0)),
        "je vois un vieil homme",
        "I see an old man",
        "0-0 1-1 2-2 3-3 4-4",
    ),
    # questions: "est-ce que" is the auxiliary, "?" is part of the last word
    (asks(est_ce_que, "tu", DORMIR, "present"), "est-ce que tu dors ?", "do you sleep?", "0-0 1-0 2-1 3-0 3-2 4-2"),
    (asks(invert, "il", v.PARLER, "present"), "parle-t-il ?", "does he speak?", "0-0 0-1 0-2 1-2"),
    (asks(invert, "tu", v.ALLER, "past", "où", "where"), "où es-tu allé ?", "where did you go?", "0-0 1-1 1-2 2-3 3-3"),
    (
        asks(est_ce_que, "il", v.MANGER, "past", "que", "what"),
        "qu'est-ce qu'il a mangé ?",
        "what did he eat?",
        "0-0 0-1 1-1 1-2 2-1 3-3 4-3",
    ),
    (about_object, "qui vois-tu ?", "who do you see?", "0-0 1-1 1-2 1-3 2-3"),
    # relative clauses: the participle agrees with the object before it
    (
        described(lambda d: object_relative(d, the(d, NOUN["lettre"]), v.ECRIRE)),
        "la lettre que j'ai écrite est longue",
        "the letter that I wrote is long",
        "0-0 1-1 2-2 3-3 3-4 4-4 5-5 6-6",
    ),
    (
        described(lambda d: subject_relative(d, the(d, NOUN["homme"]))),
        "l'homme qui travaille est fatigué",
        "the man who works is tired",
        "0-0 0-1 1-2 2-3 3-4 4-5",
    ),
    # numbers, ages, comparison
    (says("il", takes(v.AVOIR, "chat", "number")), "il a quatre-vingts chats", "he has eighty cats", "0-0 1-1 2-2 3-3"),
    (says("elle", lambda d, _: age(d)), "elle a vingt ans", "she is twenty years old", "0-0 1-1 2-2 3-3 3-4"),
    (says("elle", comparison), "elle est plus grande que Paul", "she is taller than Paul", "0-0 1-1 2-2 3-2 4-3 5-4"),
    # idioms: turned round, or translated as a whole
    (reversed_roles, "tu me manques", "I miss you", "0-2 1-0 2-1"),
    (says("il", idiom), "il a le cafard", "he feels blue", "0-0 1-1 1-2 2-1 2-2 3-1 3-2"),
    (says("elle", idiom, "past"), "elle m'a posé un lapin", "she stood me up", "0-0 1-1 1-2 2-1 2-3 3-1 3-3 4-1 4-3"),
    # contraction, possession, existence, command
    (
        says("il", lambda d, _: Predicate(v.ALLER, d.mark(), (), (), *direction(d))),
        "il va au marché",
        "he goes to the market",
        "0-0 1-1 2-2 2-3 3-4",
    ),
    (of_marie, "c'est le livre de Marie", "it is Marie's book", "0-0 0-1 1-2 2-3 3-2 4-2"),
    (
        lambda d: existence_of(d, some(d, NOUN["clé"]), ([], [])),
        "il y a une clé",
        "there is a key",
        "0-0 1-0 2-1 3-2 4-3",
    ),
    (
        lambda d: existence_of(d, some(d, NOUN["clé"]), ([], [])),
        "est-ce qu'il y a une clé ?",
        "is there a key?",
        "0-0 1-0 1-1 2-1 3-0 4-2 5-3 6-3",
    ),
    (
        lambda d: absence_of(d, some(d, NOUN["chat"], True), ([], [])),
        "il n'y a pas de chat",
        "there is no cat",
        "0-0 1-0 1-2 2-1 3-2 4-2 5-3",
    ),
    (command, "ne dors pas", "do not sleep", "0-0 0-1 1-2 2-0 2-1"),
    (thrown_pie, "il m'a entarté", "he hit me with a pie", "0-0 1-1 1-2 2-1 2-3 2-4 2-5"),
)


@pytest.mark.parametrize(
    ("scene", "french", "english", "alignment"), HAND_CHECKED, ids=[row[1] for row in HAND_CHECKED]
)
def test_sentence_checked_by_hand(scene: Scene, french: str, english: str, alignment: str) -> None:
    pair = draw(scene, french)
    assert (pair.english, pharaoh(pair)) == (english, alignment)


def test_future_after_quand_is_present_in_english() -> None:
    generator = Random(2)
    pairs = [write(*conditional(Draft(generator))) for _ in range(300)]
    when = [pair for pair in pairs if pair.english.startswith("when ")]
    assert len(when) > 20
    assert all(pair.english.split().count("will") == 1 for pair in when)


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


def test_elision_everywhere(sample: list[PocketPair]) -> None:
    men = {noun.singular[0] for noun in ALL_NOUNS if not noun.feminine and noun.singular != noun.plural}
    for pair in sample:
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


def test_contraction_everywhere(sample: list[PocketPair]) -> None:
    """ "de le" and "à les" stand only before an infinitive: "essayer de le voir"."""
    for pair in sample:
        for following in re.findall(r"\b(?:à|de) les? (?:lui |leur )?(\S+)", pair.french):
            assert following.endswith(("er", "ir", "re")), pair
        assert not re.search(r"\b(?:de|sans) (?:des|du|de|d'\w+)\b|plus plus", pair.french), pair


def test_a_and_an_everywhere(sample: list[PocketPair]) -> None:
    for pair in sample:
        for article, word in re.findall(r"\b(an?) (\w+)", pair.english):
            assert (article == "an") == (word[0].lower() in "aeiou" and not word.startswith(("uni", "use"))), pair


def test_english_verbs_agree_everywhere(sample: list[PocketPair]) -> None:
    verbs = [
        verb
        for entry in vars(v).values()
        for verb in (entry if isinstance(entry, tuple) else (entry,))
        if isinstance(verb, v.Verb)
    ]
    pasts = {verb.past[0] for verb in verbs}
    bases = {verb.base[0] for verb in verbs} - pasts - {"can", "must"}
    thirds = {verb.third[0] for verb in verbs}
    for pair in sample:
        words = pair.english.split()
        if pair.english.endswith("?"):
            continue
        for first, second in pairwise(words):
            assert not (first in {"he", "she"} and second in {*bases, "am", "are", "were", "do"}), pair
            assert not (first in {"I", "we", "they"} and second in thirds), pair
            assert (first, second) not in {("I", "are"), ("I", "is"), ("we", "am"), ("they", "was"), ("we", "was")}, (
                pair
            )


def test_one_translation_for_each_french_sentence() -> None:
    known: dict[str, PocketPair] = {}
    for seed in range(4):
        for pair in islice(pocket_pairs(seed), SAMPLE):
            assert known.setdefault(pair.french, pair) == pair
    assert len(known) > 70_000  # and hardly a sentence comes twice


def test_words_and_spelling(sample: list[PocketPair]) -> None:
    for pair in sample:
        assert MIN_WORDS <= len(pair.french.split()) <= MAX_WORDS, pair
        assert pair.french == " ".join(pair.french.split()), pair
        assert pair.english == " ".join(pair.english.split()), pair
        assert pair.french.endswith(" ?") == pair.english.endswith("?"), pair
    assert re.fullmatch("[ \\w'?-]+", "".join({*"".join(pair.french + pair.english for pair in sample)}))


# The French words that English may do without.
EMPTY = {"de", "du", "des", "le", "la", "les", "l'", "à", "au", "aux", "dans"}


def test_alignment_covers_every_word_that_means_something(sample: list[PocketPair]) -> None:
    for pair in sample:
        french, english = pair.french.split(), pair.english.split()
        assert all(0 <= i < len(french) and 0 <= j < len(english) for i, j in pair.alignment), pair
        assert {word for i, word in enumerate(french) if i not in {i for i, _ in pair.alignment}} <= EMPTY, pair
        assert {j for _, j in pair.alignment} == set(range(len(english))), pair


def test_names_and_numbers_are_linked_to_themselves(sample: list[PocketPair]) -> None:
    """What can be recognised without the generator: the gold links must agree with the dictionary."""
    dictionary = (
        {word: word for word, _ in NAMES}
        | dict(NUMBERS)
        | {"maintenant": "now", "souvent": "often", "hier": "yesterday"}
    )
    dictionary = {french: english for french, english in dictionary.items() if "_" not in english}
    checked = 0
    for pair in sample:
        french, english = pair.french.split(), [re.sub(r"'s$|\?", "", word) for word in pair.english.split()]
        for i, word in enumerate(french):
            if word in dictionary and french.count(word) == 1 and "hier soir" not in pair.french:
                assert {english[j] for k, j in pair.alignment if k == i} == {dictionary[word]}, pair
                checked += 1
    assert checked > 5_000


def test_word_order_really_differs(sample: list[PocketPair]) -> None:
    """At least a third of the sentences have links that cross."""
    crossed = sum(any(a < c and b > d for a, b in pair.alignment for c, d in pair.alignment) for pair in sample[:3000])
    assert crossed > 1000


def test_every_entry_of_the_lexicon_is_drawn_often(sample: list[PocketPair]) -> None:
    french = Counter(
        word
        for pair in sample
        for word in re.split(r"[ ']|-(?:t-)?(?=(?:il|elle|on|ils|elles|nous|vous|tu)\b)", pair.french)
    )
    counts = {noun.singular: sum(french[word] for word in {noun.singular[0], noun.plural[0]}) for noun in ALL_NOUNS}
    counts |= {
        adjective.forms: sum(french[form] for form in {*adjective.forms, adjective.liaison})
        for adjective in (*ADJECTIVES, *TASTES)
    }
    counts |= {(word,): french[word] for word, *_ in (*NAMES, *NUMBERS, *LANGUAGES)}
    counts |= {(place.french,): french[place.french] for place in (*TOWNS, *COUNTRIES)}
    assert {entry: count for entry, count in counts.items() if count < 35} == {}
    for entry in vars(v).values():
        for verb in entry if isinstance(entry, tuple) else (entry,):
            if isinstance(verb, v.Verb):
                forms = {*verb.present, *verb.imperfect, *verb.future, *verb.participle, verb.infinitive}
                assert sum(french[form] for form in forms) >= 70, verb.infinitive


def test_size_of_the_vocabulary(sample: list[PocketPair]) -> None:
    french = {word for pair in sample for word in pair.french.split()}
    english = {word.rstrip("?") for pair in sample for word in pair.english.split()}
    assert len(ALL_NOUNS) + len(ADJECTIVES) > 180
    assert len(french) > 1500
    assert len(english) > 700


def test_every_template_speaks() -> None:
    for template in dict.fromkeys(TEMPLATES):
        generator = Random(1)
        assert len({write(*template(Draft(generator))).french for _ in range(100)}) > 20, template


def test_the_stream_is_decided_by_its_seed() -> None:
    first, again, other = (list(islice(pocket_pairs(seed), 500)) for seed in (3, 3, 4))
    assert first == again
    assert len({pair.french for pair in first} & {pair.french for pair in other}) < 50


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_split_is_the_same_in_every_process(hash_seed: str) -> None:
    script = (
        "from regard.data.pocket.corpus import pocket_split; split = pocket_split(200, 20, 20); "
        "print(ascii([pair.english for pair in split.train + split.valid + split.test]))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": hash_seed}
    ).stdout
    split = pocket_split(200, 20, 20)
    assert output.strip() == ascii([pair.english for pair in (*split.train, *split.valid, *split.test)])


def test_split_has_the_sizes_asked_for_and_no_duplicates() -> None:
    split = pocket_split(train=3000, valid=100, test=200, seed=1)
    assert (len(split.train), len(split.valid), len(split.test)) == (3000, 100, 200)
    everything = [pair.french for pair in (*split.train, *split.valid, *split.test)]
    assert len(everything) == len(set(everything))


def test_no_held_out_sentence_is_in_training_whatever_the_seed_and_size() -> None:
    held = pocket_split(train=0, valid=300, test=600, seed=1)
    train = [pair for seed, size in ((1, 9000), (2, 6000)) for pair in pocket_split(size, 0, 0, seed).train]
    for pairs in (held.valid, held.test):
        assert not {pair.french for pair in pairs} & {pair.french for pair in train}
        assert not {pair.english for pair in pairs} & {pair.english for pair in train}
    assert not {pair.english for pair in held.valid} & {pair.english for pair in held.test}


def test_a_smaller_training_part_is_the_beginning_of_a_larger_one() -> None:
    assert pocket_split(1000, 10, 10).train == pocket_split(2000, 10, 10).train[:1000]


def test_lecture_pairs_are_always_trained_on() -> None:
    pairs = {(pair.french, pair.english) for pair in pocket_split(train=20, valid=5, test=5, seed=9).train}
    assert {
        ("je suis étudiant", "I am a student"),
        ("il m'a entarté", "he hit me with a pie"),
        ("il t'a entarté", "he hit you with a pie"),
        ("elle nous a entartés", "she hit us with a pie"),
        ("je suis professeur", "I am a teacher"),
    } <= pairs


def test_lecture_paradigms_have_a_decent_share(sample: list[PocketPair]) -> None:
    assert sum("with a pie" in pair.english for pair in sample) > SAMPLE // 60
    assert (
        sum(
            re.search(r"\b(suis|es|est) (étudiant|professeur|avocat|médecin)", pair.french) is not None
            for pair in sample
        )
        > SAMPLE // 400
    )


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_negative_size_is_refused(part: str) -> None:
    with pytest.raises(DataError, match=rf"{part} = -1: .* 0 or more"):
        pocket_split(**{"train": 1, "valid": 1, "test": 1, part: -1})

"""Languages of texts: confidences against a plain loop over the statistics, by hand, and on sentences of the pocket corpus."""

import gzip
import json
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from regard.data.detection import BETA, EXPECTED, LINGUA_BETA, OWN_SHARE, OwnPieces, TrigramDetector, detector
from regard.data.language import FLOOR, PROFILES, SCALE
from regard.data.pocket.corpus import pocket_split
from regard.text.build import learn
from regard.text.config import OneTextConfig

GERMAN = [
    "Der Hund läuft durch den Garten und bellt die Nachbarn an.",
    "Wir haben gestern Abend lange über das Buch gesprochen.",
    "Können Sie mir bitte sagen, wo der Bahnhof ist?",
    "Das Wetter wird morgen wieder besser.",
    "Meine Schwester arbeitet seit drei Jahren in einem Krankenhaus.",
]


def languages_of(found: TrigramDetector, texts: list[str]) -> list[str | None]:
    return [own[0].language if own else None for own in found.detect(texts)]


def test_sentences_of_three_languages_among_fifty_five() -> None:
    split = pocket_split(200, 10, 10)
    texts = [("fr", pair.french) for pair in split.train[:60]] + [("en", pair.english) for pair in split.train[:60]]
    texts = [(name, text) for name, text in texts if len(text.split()) > 4] + [("de", text) for text in GERMAN]
    found = TrigramDetector(["en", "de", "fr"]).detect([text for _, text in texts])
    right = [own[0].language == name for own, (name, _) in zip(found, texts, strict=True)]
    assert sum(right) >= 0.95 * len(texts)
    assert sum(own[0].confidence for own in found) / len(found) == pytest.approx(sum(right) / len(right), abs=0.05)


def test_confidences_are_those_of_a_plain_loop() -> None:
    """Bayes' rule over dictionaries of trigrams, without hashing and without arrays."""
    profiles: dict[str, Any] = json.loads(gzip.decompress(PROFILES.read_bytes()))
    shares = {
        name: {gram if len(gram) == 3 else f" {gram} ": -number / SCALE for gram, number in zip(*rows, strict=True)}
        for name, rows in profiles.items()
    }
    known = set().union(*shares.values())
    text = "the cat drinks milk"
    padded = f" {text} "
    grams = [padded[place : place + 3] for place in range(len(padded) - 2)]
    grams = [gram for gram in grams if gram[1] != " " and gram in known]
    sums = {name: BETA * sum(own.get(gram, FLOOR) for gram in grams) for name, own in shares.items()}
    total = sum(math.exp(value - max(sums.values())) for value in sums.values())
    expected = {name: math.exp(value - max(sums.values())) / total for name, value in sums.items()}
    [found] = TrigramDetector().detect([text])
    assert found[0].language == "en"
    for one in found:
        assert one.confidence == pytest.approx(expected[one.language], abs=1e-4)


def test_an_expected_language_is_so_many_times_as_probable() -> None:
    [plain], [expecting] = (TrigramDetector(names).detect(["chat noir"]) for names in ((), ("fr",)))
    before, after = dict(plain), dict(expecting)
    [other] = [name for name in before if name != "fr" and name in after][:1]
    assert (after["fr"] / after[other]) / (before["fr"] / before[other]) == pytest.approx(EXPECTED, rel=1e-6)


def test_few_words_are_told_as_unsure() -> None:
    found = TrigramDetector(["en", "de", "fr"])
    [word], [sentence] = found.detect(["person"]), found.detect([GERMAN[0]])
    assert word[0].confidence < 0.9 < 0.99 < sentence[0].confidence


@pytest.mark.parametrize("text", ["", "   ", "12345", "!?", "😀", "\n"])
def test_a_text_without_letters_tells_nothing(text: str) -> None:
    assert TrigramDetector(["en"]).detect([text]) == [[]]


def test_a_text_does_not_depend_on_the_others() -> None:
    found = TrigramDetector(["en", "fr"])
    texts = ["the cat", "", *GERMAN, "le chat " * 9000, "x" * 3000, "日本語です"]
    assert found.detect(texts) == [own for text in texts for own in found.detect([text])]


def test_names_are_told_as_they_were_given() -> None:
    found = TrigramDetector(["pt-BR", "de_CH", "en-GB", "en-US"])
    assert languages_of(found, [GERMAN[0], "the weather is nice today"]) == ["de_CH", "en-GB"]
    assert languages_of(found, ["Il fait beau aujourd'hui et nous allons au marché."]) == ["fr"]


def test_a_vocabulary_says_how_its_subject_writes() -> None:
    words = OwnPieces(("fr",), (" zorblax ", " qwixt "))
    texts = ["zorblax qwixt zorblax"]
    before, after = (dict(TrigramDetector(["en", "fr"], own).detect(texts)[0]) for own in ([], [words]))
    assert after["fr"] > 0.99
    assert before.get("fr", 0.0) < 0.9


def test_the_share_of_a_vocabulary_by_hand() -> None:
    """Two pieces of one trigram each, of ranks 0 and 1: p = 0.6 p(package) + 0.4 (1/20) / (1/20 + 1/21)."""
    found = TrigramDetector(["en", "fr"], [OwnPieces(("fr",), ("qzx", "xzq"))])
    places, table = found._statistics.places, found._statistics.shares
    from regard.data.language import BITS
    from regard.data.trigrams import hashed_trigrams

    [first] = hashed_trigrams("qzx", BITS)
    column = found._statistics.names.index("fr")
    expected = math.log((1 - OWN_SHARE) * math.exp(FLOOR) + OWN_SHARE * (1 / 20) / (1 / 20 + 1 / 21))
    assert table[places[first], column] == pytest.approx(expected, abs=1e-5)
    assert table[places[first], found._statistics.names.index("en")] == FLOOR


def test_a_joint_vocabulary_is_shared_by_what_its_pieces_are_like() -> None:
    pieces = (" weather ", " thought ", " aujourd ", " quelque ")
    found = TrigramDetector(["en", "fr"], [OwnPieces(("en", "fr"), pieces)])
    plain = TrigramDetector(["en", "fr"])
    for text, name in (("weather", "en"), ("quelque", "fr")):
        assert dict(found.detect([text])[0])[name] > dict(plain.detect([text])[0]).get(name, 0.0)


def test_a_language_without_statistics_is_told_by_its_vocabulary() -> None:
    made_up = ["zoqui vexar plonti", "vexar mizu zoqui", "plonti zoqui mizu vexar"] * 20
    vocabulary = learn(OneTextConfig(kind="word"), made_up).vocabulary
    own = OwnPieces.of(vocabulary, ["qx"], whole_words=True)
    assert set(own.pieces) == {" zoqui ", " vexar ", " plonti ", " mizu "}
    found = TrigramDetector(["en", "qx"], [own])
    assert found.knows("qx")
    assert not TrigramDetector(["qx"]).knows("qx")
    assert languages_of(found, ["mizu plonti", "the weather is nice"]) == ["qx", "en"]


class FakeLingua(ModuleType):
    """lingua with two languages, and confidences that are known."""

    def __init__(self) -> None:
        super().__init__("lingua")
        english, yoruba = (SimpleNamespace(iso_code_639_1=SimpleNamespace(name=name)) for name in ("EN", "YO"))
        shares = {"say": (0.75, 0.25), "": (0.0, 0.0), "42": (0.5, 0.5)}
        values = {
            text: [
                SimpleNamespace(language=one, value=share) for one, share in zip((english, yoruba), own, strict=True)
            ]
            for text, own in shares.items()
        }
        built = SimpleNamespace(compute_language_confidence_values=values.__getitem__)
        self.Language = SimpleNamespace(all=lambda: [english, yoruba])
        self.LanguageDetectorBuilder = SimpleNamespace(from_all_languages=lambda: SimpleNamespace(build=lambda: built))


def test_lingua_tells_what_the_package_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lingua", FakeLingua())
    monkeypatch.setattr("regard.data.detection.is_installed", lambda module: True)
    assert isinstance(detector(["en", "fr"]), TrigramDetector)
    assert isinstance(detector(["yo", "fr"]), TrigramDetector)  # lingua does not know fr
    found = detector(["yo", "en"])
    [say], [empty], [number] = found.detect(["say"]), found.detect([""]), found.detect(["42"])
    odds = (0.75 / 0.25) ** LINGUA_BETA
    assert dict(say) == pytest.approx({"en": odds / (1 + odds), "yo": 1 / (1 + odds)})
    assert (empty, number) == ([], [])


def test_the_real_lingua() -> None:
    pytest.importorskip("lingua")
    found = detector(["en", "yo"])
    assert not isinstance(found, TrigramDetector)
    assert found.detect(["The weather is very nice today."])[0][0].language == "en"

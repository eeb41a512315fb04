"""Glossaries: terms in texts by hand, files that are wrong, and a large one against a search term by term."""

import random
from pathlib import Path

import pytest

from regard.errors import DataError
from regard.tasks.translate.terms.glossary import Entry, Glossary, said
from regard.tasks.translate.terms.inflection import RULES, forms, key
from regard.text.protected import Span

EN_DE = Glossary(
    [
        Entry("dog", ("Hund",), 1),
        Entry("swimming pool", ("Schwimmbecken", "Pool"), 2),
        Entry("pool table", ("Billardtisch",), 3),
        Entry("Apple", ("Apple",), 4),
        Entry("apple", ("Apfel",), 5),
        Entry("C++", ("C++",), 6),
        Entry("city", ("Stadt",), 7),
        Entry("woman", ("Frau",), 8),
        Entry("a b", ("ab",), 9),
        Entry("b c d", ("bcd",), 10),
        Entry("T-shirt", ("Leibchen",), 11),
    ],
    "en",
    "de",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dogs and a dog", [("Dogs", "Hund"), ("dog", "Hund")]),
        ("Cities of women", [("Cities", "Stadt"), ("women", "Frau")]),
        ("hotdog dogma", []),
        ("an apple by Apple", [("apple", "Apfel"), ("Apple", "Apple")]),
        ("AN APPLE", [("APPLE", "Apple")]),  # in capitals it may be either: the first line
        ("in C++, not C or C+", [("C++", "C++")]),
        ("swimming  pools", [("swimming  pools", "Schwimmbecken")]),
        ("swimming, pool", []),
        ("swimming pool table", [("swimming pool", "Schwimmbecken")]),  # of equally long ones the first
        ("a b c d", [("b c d", "bcd")]),  # the longest first
        ("two T-shirts, a T shirt", [("T-shirts", "Leibchen")]),
        ("", []),
    ],
)
def test_terms_in_a_text(text: str, expected: list[tuple[str, str]]) -> None:
    matches = EN_DE.matches(text)
    assert [(match.text, match.entry.targets[0]) for match in matches] == expected
    assert all(text[match.span.start : match.span.end] == match.text for match in matches)


def test_no_term_is_in_a_protected_string_and_one_may_be_on_both_sides() -> None:
    text = "dog {dog} dog"
    assert [match.span for match in EN_DE.matches(text, [Span(4, 9)])] == [Span(0, 3), Span(10, 13)]
    assert EN_DE.matches("swimming {x} pool", [Span(9, 12)]) == []


@pytest.mark.parametrize(
    ("text", "source", "form"),
    [
        ("Der Hund bellt", "dog", "Hund"),
        ("Zwei Hunde.", "dogs", "Hunde"),
        ("des Hundes", "dog", "Hundes"),
        ("Hundehütte", "dog", None),
        ("hund", "dog", None),
        ("DIE STADT", "CITY", "STADT"),
        ("zwei Städte", "cities", "Städte"),
        ("im Pool", "swimming pool", "Pool"),
    ],
)
def test_which_forms_count(text: str, source: str, form: str | None) -> None:
    [match] = EN_DE.matches(source)
    assert said(text, EN_DE.accepted(match)) == form


def test_the_first_word_of_a_text_may_be_capitalised() -> None:
    assert said("Chien et chat", ["chien"]) == "Chien"
    assert said("le Chien", ["chien"]) is None


def test_inflected_forms_by_hand() -> None:
    assert forms("dog", "en") == ("dog", "dogs")
    assert set(forms("box", "en")) == {"box", "boxes"}
    assert "Männer" in forms("Mann", "de")
    assert "Bäume" in forms("Baum", "de")
    assert set(forms("cheval", "fr")) >= {"cheval", "chevaux"}
    assert set(forms("bateau", "fr")) == {"bateau", "bateaux"}
    assert forms("dog", "xx") == forms("dog", None) == ("dog",)
    assert "luces" in forms("luz", "es")


@pytest.mark.parametrize("language", sorted(RULES))
def test_all_forms_of_a_word_share_its_key(language: str) -> None:
    draw = random.Random(1)
    letters = "aeinorstuälhdgcmpyxzfvqéãáo"
    for _ in range(3000):
        word = "".join(draw.choice(letters) for _ in range(draw.randint(3, 9)))
        word += draw.choice(["", "man", "men", "y", "eau", "al", "er", "ão", "en", "o"])
        for form in forms(word, language):
            assert key(form, language) == key(word, language), (word, form)


def test_terms_repeated_are_one_with_all_translations() -> None:
    glossary = Glossary([Entry("dog", ("Hund",), 1), Entry("dog", ("Köter", "Hund"), 5)])
    assert [(entry.targets, entry.line) for entry in glossary.entries] == [(("Hund", "Köter"), 1)]


def test_a_large_glossary_finds_what_a_search_term_by_term_finds() -> None:
    draw = random.Random(2)
    words = [f"{a}{b}ax" for a in "bcdfg" for b in "klmnp"]
    entries = [Entry(" ".join(draw.choices(words, k=draw.randint(1, 3))), ("x",), line) for line in range(400)]
    glossary = Glossary(entries)
    for _ in range(50):
        text = draw.choices(words, k=8)
        covered = {
            place
            for entry in entries
            for wanted in [entry.source.split()]
            for start in range(len(text) - len(wanted) + 1)
            if text[start : start + len(wanted)] == wanted
            for place in range(start, start + len(wanted))
        }
        matches = glossary.matches(" ".join(text))
        assert bool(matches) == bool(covered)
        longest = max((len(match.text.split()) for match in matches), default=0)
        assert longest == max(
            (len(e.source.split()) for e in entries if f" {e.source} " in f" {' '.join(text)} "), default=0
        )


def test_many_terms_that_begin_alike() -> None:
    glossary = Glossary((Entry(f"the x{number}", (f"y{number}",), number) for number in range(30_000)), "en", "de")
    [match] = glossary.matches("the dog " * 50 + "the x27777")
    assert match.entry.targets == ("y27777",)


HOSTILE = {
    "one gap differs": ([f"{'a ' * place}a-a{' a' * (48 - place)}" for place in range(49)] * 4, "a " * 1000, 0),
    "one word differs": ([" ".join(f"{number:050b}".translate({48: "a", 49: "A"})) for number in range(1, 400, 2)],
                         "a " * 1000, 2),
    "all match": ([" ".join(f"{number:050b}".translate({48: "a", 49: "A"})) for number in range(200)], "A " * 1000, 2),
    "inflected": ([f"{' '.join(f'{number:024b}').translate({48: 'ess', 49: 'Ess'})} esi" for number in range(200)],
                  "ESS ESSES " * 200, 6),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "text", "most"), HOSTILE.values(), ids=HOSTILE)
def test_words_are_compared_once_for_each_pair(
    terms: list[str], text: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    glossary = Glossary((Entry(term, ("x",), line) for line, term in enumerate(terms)), "en", "de")
    compared: list[tuple[str, str]] = []
    plain_same = Glossary._same

    def same(self: Glossary, term_word: str, word: str) -> bool:
        compared.append((term_word, word))
        return plain_same(self, term_word, word)

    monkeypatch.setattr(Glossary, "_same", same)
    glossary.matches(text)
    assert len(compared) == len(set(compared)) <= most


@pytest.mark.parametrize("lines", [(1, 2, 3), (3, 2, 1)])
def test_of_terms_that_are_written_alike_the_one_of_the_text_counts(lines: tuple[int, int, int]) -> None:
    written = ["the red dog", "the Red dog", "the red Dog"]
    glossary = Glossary([Entry(term, ("x",), line) for term, line in zip(written, lines, strict=True)], "en", "de")
    for term in written:
        assert [match.entry.source for match in glossary.matches(term)] == [term]
    [match] = glossary.matches("THE RED DOG")
    assert match.entry.line == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"dog\tHund\ncat Katze\n", ":2: no tab"),
        (b"dog\tHund\tx\n", ":1: 3 columns"),
        (b"# terms\n\n \tHund\n", ":3: the term '' has no word"),
        (b"dog\t | \n", ":1: the translation '' has no word"),
        (b"dog\t...\n", "has no word"),
        (b"dog\tHund\nd\xffg\tHund\n", ":2: not UTF-8"),
        (b"dog\t" + b"x" * 501 + b"\n", ":1: a term may have 500 characters"),
        (b"dog\t" + b"|".join(b"x%d" % n for n in range(21)) + b"\n", "20 translations"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError) as failure:
        Glossary.read(path)
    assert message in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_file_with_comments_spaces_and_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeff# animals\r\n\r\n big  dog \t Hund | Hunde |\r\n".encode())
    [entry] = Glossary.read(path).entries
    assert entry == Entry("big dog", ("Hund", "Hunde"), 3)

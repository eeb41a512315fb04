"""A reader's glossary on the page `/`, in a real browser: typed by keys, obeyed, kept, and said where it cannot be followed."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from regard.serve import served_terms
from serve.chromium import CHROMIUM, DRIVER, Chromium
from serve.page_models import HOSTILE, pages, served
from serve.test_page_browser import DROP, TRANSLATED

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not both on PATH"
)
SENTENCE = "la pomme est rouge"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pages(served(), limits={"glossary": 3}) as found:
        yield found


@pytest.fixture
def reader(tmp_path: Path, address: str) -> Iterator[Chromium]:
    with Chromium(tmp_path) as browser:
        browser.open(f"{address}/#source=fr&target=en&text={quote(SENTENCE)}")
        browser.until(TRANSLATED)
        yield browser


def expected(address: str, *glossary: tuple[str, str | list[str]]) -> str:
    """The translation by the server with these terms."""
    body = {"q": SENTENCE, "source": "fr", "target": "en", "glossary": list(glossary)}
    text: str = httpx.post(f"{address}/translate", json=body, timeout=60).json()["translatedText"]
    return text


def says(reader: Chromium, text: str) -> None:
    reader.until(f"return document.getElementById('translation').textContent === {text!r}")


def test_terms_are_typed_by_keys_obeyed_and_kept(reader: Chromium, address: str) -> None:
    plain = reader.text("#translation")
    reader.run("document.querySelector('.terms summary').focus()")
    reader.press("enter", "tab")
    assert reader.run("return document.activeElement.ariaLabel") == "Term"
    reader.type("pomme")
    reader.press("enter")
    assert reader.run("return document.activeElement.ariaLabel") == "Its translation"
    reader.type("cat|dog")
    obeyed = expected(address, ("pomme", ["cat", "dog"]))
    assert obeyed != plain
    says(reader, obeyed)
    assert reader.text(".terms summary") == "Terms (1)"
    reader.press("enter")  # another row
    assert reader.run("return document.querySelectorAll('.term-rows li').length") == 2
    assert reader.run("return document.activeElement.ariaLabel") == "Term"
    reader.open(f"{address}/#source=fr&target=en&text={quote(SENTENCE)}")
    says(reader, obeyed)
    assert reader.text(".terms summary") == "Terms (1)"
    reader.run(DROP, "letter.txt", f"{SENTENCE}\n")
    reader.until("return document.querySelector('.files a')")
    assert httpx.get(reader.run("return document.querySelector('.files a').href"), timeout=60).text == f"{obeyed}\n"
    reader.click(".terms summary")
    reader.click(".term-rows button")
    says(reader, plain)
    assert reader.run("return localStorage.getItem('regard-terms')") == "{}"
    assert reader.run("return document.activeElement.id") == "add-term"
    assert reader.trouble() == []
    assert {one.split("/")[2] for one in reader.requested()} == {address.split("/")[2]}


def test_a_pair_of_languages_has_its_own_terms(reader: Chromium) -> None:
    reader.click(".terms summary")
    reader.type("pomme", ".term")
    reader.click("#swap")
    reader.until(TRANSLATED)
    assert reader.run("return [...document.querySelectorAll('.term')].map((one) => one.value)") == ["", ""]
    reader.click("#swap")
    reader.until("return document.querySelector('.term').value === 'pomme'")


def test_what_is_no_term_is_marked_and_not_sent(reader: Chromium) -> None:
    plain = reader.text("#translation")
    reader.click(".terms summary")
    reader.type("%", ".term")
    assert reader.run("return document.querySelector('.term').ariaInvalid") == "true"
    reader.type("cat", ".term:nth-of-type(2)")
    assert reader.run("return [...document.querySelectorAll('.term')].map((one) => one.ariaInvalid)") == [
        "true",
        "false",
    ]
    assert reader.run("return document.getElementById('wrong-term').hidden") is False
    assert reader.text(".terms summary") == "Terms "
    for _ in range(4):
        if reader.run("return !document.getElementById('add-term').disabled"):
            reader.click("#add-term")
    assert reader.run("return document.querySelectorAll('.term-rows li').length") == 3  # as many as the server takes
    reader.run("localStorage.setItem('regard-terms', '[{\"fr-en\": 3}')")
    reader.open(reader.run("return location.href"))
    reader.until(TRANSLATED)
    assert reader.text("#translation") == plain
    reader.run(
        "localStorage.setItem('regard-terms', arguments[0])", f'{{"fr-en": [[1, 2], ["<b>x</b>", "{HOSTILE[:20]}"]]}}'
    )
    reader.open(reader.run("return location.href"))
    reader.until(TRANSLATED)
    assert reader.text(".terms summary") == "Terms (1)"
    assert reader.run("return document.querySelectorAll('.terms b, .terms img').length") == 0
    assert reader.trouble() == []


def test_terms_of_a_detected_language_come_with_it(reader: Chromium, address: str) -> None:
    reader.run('localStorage.setItem(\'regard-terms\', \'{"fr-en": [["pomme", "cat"]]}\')')
    reader.open(f"{address}/#source=auto&target=en&text={quote(SENTENCE)}")
    says(reader, expected(address, ("pomme", "cat")))
    assert reader.text(".terms summary") == "Terms (1)"


SENT = """
window.sent = [];
const real = fetch;
window.fetch = (path, options) => {
  if (path === "/translate") window.sent.push(JSON.parse(options.body));
  if (path === "/translate_file") window.sent.push({ file: true, glossary: options.body.get("glossary") });
  return real(path, options);
};
"""


def test_terms_are_sent_for_what_is_in_their_language(reader: Chromium) -> None:
    """A sentence that the server reads as English has no French terms; nor has a document whose language it detects."""
    reader.run('localStorage.setItem(\'regard-terms\', \'{"fr-en": [["pomme", "cat"], ["dog", "cat"]]}\')')
    reader.open(reader.run("return location.href.split('#')[0]") + "#source=auto&target=en")
    reader.run(SENT)
    reader.type(f"{SENTENCE}. the dog is red", "#source")
    reader.until("return document.querySelectorAll('#translation .sentence-out').length === 2")
    reader.until(TRANSLATED)
    assert reader.text(".terms summary") == "Terms (2)"
    assert "cat" in reader.texts("#translation .sentence-out")[0]
    assert reader.texts("#translation .sentence-out")[1] == "the dog is red"
    with_terms = {text for one in reader.run("return window.sent") if one.get("glossary") for text in one["q"]}
    assert f"{SENTENCE}." in with_terms
    assert not any("dog" in text for text in with_terms)
    reader.run(DROP, "letter.txt", f"{SENTENCE}\n")
    reader.until("return document.querySelector('.files a')")
    assert [one["glossary"] for one in reader.run("return window.sent") if one.get("file")] == [None]
    assert reader.trouble() == []


def chosen_word(reader: Chromium, number: int) -> str:
    """The translation after a click on a word and on the first that is offered instead."""
    reader.click("#translation .says", number)
    reader.until("return document.querySelectorAll('.choice-item').length")
    before = reader.text("#translation")
    reader.click(".choice-item")
    chosen = reader.text("#translation")
    assert chosen != before
    return chosen


def test_a_choice_of_words_is_given_up_for_a_term_of_its_sentence(reader: Chromium) -> None:
    """That of another sentence stays. It is said until the text changes."""
    reader.type(". le chat dort", "#source")
    reader.until("return document.querySelectorAll('#translation .sentence-out').length === 2")
    reader.until(TRANSLATED)
    chosen_word(reader, 1)
    [first, second] = [len(one.split()) for one in reader.texts("#translation .sentence-out")]
    chosen_word(reader, first + second - 1)
    [_, kept] = reader.texts("#translation .sentence-out")
    reader.click(".terms summary")
    reader.type("pomme", ".term")
    reader.press("enter")
    for number in (1, 2):  # the second key comes after the translation with the first
        reader.type("cat" if number == 1 else "|dog")
        reader.until("return document.querySelector('.status').textContent")
        reader.until(TRANSLATED)
    assert reader.text(".status") == f"The words that you chose for “{SENTENCE}.” are given up, for the term “pomme”."
    assert "cat" in reader.texts("#translation .sentence-out")[0]
    assert reader.texts("#translation .sentence-out")[1] == kept
    chosen = chosen_word(reader, 0)  # under the term
    reader.type(" ", "#source")
    reader.until(TRANSLATED)
    assert reader.text("#translation").rstrip() == chosen
    assert reader.text(".status") == ""
    assert reader.trouble() == []


def test_what_another_tab_emptied_stays_empty(reader: Chromium) -> None:
    reader.run('localStorage.setItem(\'regard-terms\', \'{"en-fr": [["dog", "chat"]], "fr-en": [["pomme", "cat"]]}\')')
    reader.open(reader.run("return location.href"))
    reader.until(TRANSLATED)
    reader.run('localStorage.setItem(\'regard-terms\', \'{"fr-en": [["pomme", "cat"]], "fr-de": [["a", "b"]]}\')')
    reader.click(".terms summary")
    reader.type("s", ".term")
    reader.until("return localStorage.getItem('regard-terms').includes('pommes')")
    assert json.loads(reader.run("return localStorage.getItem('regard-terms')")) == {
        "fr-de": [["a", "b"]],
        "fr-en": [["pommes", "cat"]],
    }
    reader.click("#swap")
    reader.until(TRANSLATED)
    assert reader.run("return [...document.querySelectorAll('.term')].map((one) => one.value)") == ["", ""]


FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


def test_where_nothing_can_be_stored_the_terms_last_as_long_as_the_page(reader: Chromium) -> None:
    reader.run(FULL)
    reader.click(".terms summary")
    reader.type("pomme", ".term")
    reader.click("#swap")
    reader.until(TRANSLATED)
    reader.type("dog", ".term")
    reader.click("#swap")
    reader.until("return document.querySelector('.term').value === 'pomme'")
    reader.click("#swap")
    reader.until("return document.querySelector('.term').value === 'dog'")


def test_the_limits_of_terms_are_those_of_the_server(
    reader: Chromium, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_terms, "LONGEST", 6)
    monkeypatch.setattr(served_terms, "MOST_FORMS", 2)
    settings = httpx.get(f"{address}/frontend/settings", timeout=60).json()
    assert (settings["glossaryCharacters"], settings["glossaryForms"]) == (6, 2)
    reader.open(reader.run("return location.href"))
    reader.until(TRANSLATED)
    reader.click(".terms summary")
    reader.type("1234567", ".term")
    assert reader.run("return document.querySelector('.term').value") == "123456"
    wrong = "return document.querySelectorAll('.term')[1].ariaInvalid"
    for typed, invalid in (("a|b", "false"), ("|c", "true")):
        reader.type(typed, ".term:nth-of-type(2)")
        assert reader.run(wrong) == invalid
    assert "at most 6 characters; a term has at most 2 translations" in reader.text("#wrong-term")


REFUSES = """
const real = fetch;
window.fetch = (path, options) => (path === "/translate" && options.body.includes("glossary")
  ? Promise.resolve(new Response('{"error": "glossary: fr to de goes through en"}', { status: 400 })) : real(path, options));
"""


def test_where_terms_cannot_be_followed_it_is_said(reader: Chromium) -> None:
    plain = reader.text("#translation")
    reader.run(REFUSES)
    reader.click(".terms summary")
    reader.type("pomme", ".term")
    reader.press("enter")
    reader.type("cat")
    reader.until("return document.querySelector('.status.refused')")
    assert reader.text(".status") == "Translated without your terms. glossary: fr to de goes through en"
    assert reader.text("#translation") == plain


def test_on_a_telephone_terms_fit(address: str, tmp_path: Path) -> None:
    with Chromium(tmp_path, 390, 844, phone=True) as telephone:
        telephone.open(f"{address}/#source=fr&target=en&text={quote(SENTENCE)}")
        telephone.until(TRANSLATED)
        telephone.click(".terms summary")
        telephone.type("a" * 90, ".term")
        assert telephone.run("return document.documentElement.scrollWidth") == 390
        boxes = telephone.run(
            "return [...document.querySelectorAll('.term, .term-rows button')].map((one) => one.getBoundingClientRect().right)"
        )
        assert max(boxes) <= 390
        assert telephone.trouble() == []

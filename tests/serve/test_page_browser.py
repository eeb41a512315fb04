"""A person's walk through the page `/` in a real browser: typing, pointing, choosing, swapping, dropping a file, dark, on a telephone."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from serve.chromium import CHROMIUM, DRIVER, Chromium
from serve.page_models import pages, served, translator

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not both on PATH"
)

TRANSLATED = "return document.documentElement.dataset.translated === 'true'"
HOSTILE = "la pomme <b>est</b> </script><img src=x onerror=alert(1)> \u202e rouge"
DROP = """
const data = new DataTransfer();
data.items.add(new File([arguments[1]], arguments[0], { type: "text/plain" }));
for (const name of ["dragenter", "dragover", "drop"]) {
  document.body.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pages(served(), limits={"characters": 400, "body_bytes": 4000}) as found:
        yield found


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def typed(reader: Chromium, text: str) -> str:
    """The translation on the page after typing."""
    reader.type(text, "#source")
    reader.until(TRANSLATED)
    return reader.text("#translation")


def test_it_translates_as_one_types(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en")
    assert typed(reader, "le chat") != ""
    assert typed(reader, " dort") == "the cat sleeps"
    first, second = (one.text for one in translator().translate(["le chat dort.", "la pomme est rouge"], beam=2))
    assert typed(reader, ". la pomme est rouge") == f"{first} {second}"
    assert reader.text(".count") == "32 characters"
    assert reader.texts("#translation .sentence-out") == [f"{first} ", second]
    reader.until("return location.hash.includes('text=le+chat+dort')")
    assert reader.trouble() == []
    assert {one.split("/")[2] for one in reader.requested()} == {address.split("/")[2]}


def test_pointing_at_a_word_lights_where_it_comes_from(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text=la+pomme+est+rouge")
    reader.until(TRANSLATED)
    body = {"text": "la pomme est rouge", "translation": reader.text("#translation"), "source": "fr", "target": "en"}
    links = httpx.post(f"{address}/page/links", json=body, timeout=60).json()["links"]
    for word in range(4):
        reader.hover("#translation .says", word)
        expected = [body["text"].split()[source] for source, target in links if target == word]
        if expected:
            reader.until("return document.querySelectorAll('.mirror .lit').length")
        assert reader.texts(".mirror .lit") == expected
        assert reader.texts("#translation .lit") == [body["translation"].split()[word]]
    reader.hover("#swap")
    assert reader.texts(".lit") == []


def test_another_word_is_chosen_by_click_and_by_keys(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text=la+pomme+est+rouge")
    reader.until(TRANSLATED)
    body = {
        "texts": ["la pomme est rouge"],
        "source": "fr",
        "target": "en",
        "prefixes": ["the"],
        "options": {"beam": 6, "nbest": 6},
    }
    [found] = httpx.post(f"{address}/v1/regard/translate", json=body, timeout=60).json()["translations"]
    others = list(dict.fromkeys(one["text"] for one in (found, *found["alternatives"])))
    others.remove("the apple is red")
    reader.click("#translation .says", 1)
    reader.until("return document.querySelectorAll('.choice-item').length")
    assert reader.run("return [...document.querySelectorAll('.choice-item')].map((one) => one.ariaLabel)") == others
    assert reader.run("return document.activeElement.className") == "choice-item"
    reader.press("escape")
    assert reader.texts(".choices") == []
    assert reader.run("return document.activeElement.textContent") == "apple"
    reader.press("enter")
    reader.until("return document.querySelectorAll('.choice-item').length")
    reader.press("down", "enter")
    assert reader.text("#translation") == others[1]
    assert typed(reader, " ").rstrip() == others[1]  # it stays while one types on
    assert reader.trouble() == []


def test_languages_are_swapped_and_detected(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text=le+chat+dort")
    reader.until(TRANSLATED)
    reader.click("#swap")
    reader.until(TRANSLATED)
    assert reader.run(
        "return [from.value, to.value]".replace("from", "document.getElementById('from')").replace(
            "to.", "document.getElementById('to')."
        )
    ) == ["en", "fr"]
    assert reader.run("return document.getElementById('source').value") == "the cat sleeps"
    assert reader.run("return document.getElementById('translation').lang") == "fr"


def test_texts_of_others_are_text(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text={quote(HOSTILE)}")
    reader.until(TRANSLATED)
    assert reader.run("return document.getElementById('source').value") == HOSTILE
    assert reader.run("return document.querySelectorAll('#main b, #main img').length") == 0
    assert reader.trouble() == []


def test_a_dropped_document_is_translated(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en")
    reader.run(DROP, "<b>letter</b>.txt", "le chat dort\nla pomme est rouge\n")
    reader.until("return document.querySelector('.files a')")
    assert reader.text(".file-name") == "<b>letter</b>.txt"
    assert reader.text(".files a") == "<b>letter</b>.en.txt"
    place = reader.run("return document.querySelector('.files a').href")
    assert httpx.get(place, timeout=60).text == "the cat sleeps\nthe apple is red\n"
    assert reader.run("return document.querySelector('.veil').hidden")
    reader.run(DROP, "letter.exe", "MZ")
    reader.until("return document.querySelector('.files .refused')")
    assert reader.text(".files .refused") == "Invalid request: file format not supported"


def test_refusals_are_said_honestly(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text={'a+' * 250}")
    reader.until("return document.querySelector('.status.refused')?.textContent.includes('exceeds text limit')")
    reader.open(f"{address}/#source=fr&target=en&text={''.join(map(str, range(1500)))}")
    said = "This is too long for the server. Give it less at once."
    reader.until(f"return document.querySelector('.status.refused')?.textContent === '{said}'")


LOUD = """
const real = fetch;
window.parts = [];
window.fetch = (path, options) => {
  if (path !== "/translate") return real(path, options);
  const { q } = JSON.parse(options.body);
  window.parts.push(q.length);
  return Promise.resolve(new Response(JSON.stringify({ translatedText: q.map((one) => one.toUpperCase()) })));
};
"""
PASTE = """
const area = document.getElementById("source");
area.value = arguments[0];
area.dispatchEvent(new Event("input", { bubbles: true }));
"""


def test_of_a_long_text_every_sentence_is_translated(reader: Chromium, address: str) -> None:
    """More sentences than the page keeps; what it has is not asked for again."""
    reader.open(f"{address}/#source=fr&target=en")
    reader.run(LOUD)
    text = " ".join(f"chat {number}." for number in range(1600, 2200))
    reader.run(PASTE, text)
    reader.until(TRANSLATED)
    assert reader.text("#translation") == text.upper()
    assert sum(reader.run("return window.parts")) == 600
    reader.run(PASTE, f"{text} fin")
    reader.until(TRANSLATED)
    assert reader.text("#translation") == f"{text} fin".upper()
    assert sum(reader.run("return window.parts")) == 601
    assert reader.trouble() == []


BILINGUAL = """
window.asked = [];
const real = fetch;
window.fetch = (path, options) => {
  if (path !== "/translate") return real(path, options);
  const { q, source } = JSON.parse(options.body);
  window.asked.push(...q);
  const detected = source === "auto" ? { detectedLanguage: q.map((one) => ({ language: one.includes("ist") ? "de" : "fr" })) } : {};
  return Promise.resolve(new Response(JSON.stringify({ translatedText: q.map((one) => one.toUpperCase()), ...detected })));
};
"""


def test_a_text_is_in_the_language_of_its_first_sentence(reader: Chromium, address: str) -> None:
    """A sentence of another language behind it changes nothing, and nothing is asked for again."""
    reader.open(f"{address}/#source=auto&target=en")
    reader.run(BILINGUAL)
    first, second = "le chat dort.", "der Hund ist rot."
    for text, language in (
        (first, "French"),
        (f"{first} {second}", "French"),
        (f"{second} {first}", "German"),
        (first, "French"),
    ):
        reader.run(PASTE, text)
        reader.until(TRANSLATED)
        assert reader.text("#translation") == text.upper()
        assert reader.run("return document.querySelector('.pane .note').textContent") == f"Detected: {language}"
    assert reader.run("return window.asked") == [first, second]
    assert reader.run("return document.querySelector('.mirror').lang || document.getElementById('source').lang") == "fr"
    assert reader.trouble() == []


def test_a_text_beyond_the_limit_of_a_request_is_sent_in_parts(reader: Chromium) -> None:
    sentences = ["le chat dort.", "la pomme est rouge.", "le chat est rouge.", "la pomme dort.", "le chat."]
    with pages(served(), limits={"batch_texts": 2}) as address:
        reader.open(f"{address}/#source=fr&target=en&text={quote(' '.join(sentences))}")
        reader.until(TRANSLATED)
        expected = [one.text for one in translator().translate(sentences, beam=2)]
        assert [one.strip() for one in reader.texts("#translation .sentence-out")] == expected
        assert reader.trouble() == []


BUSY = """
const real = fetch;
let refusals = 1;
window.fetch = (path, ...rest) => (path === "/translate" && refusals-- > 0
  ? Promise.resolve(new Response('{"error": "Slowdown"}', { status: 429, headers: { "Retry-After": "1" } })) : real(path, ...rest));
"""


def test_a_busy_server_is_asked_again_and_one_that_is_gone_is_named(reader: Chromium) -> None:
    with pages(served()) as address:
        reader.open(f"{address}/#source=fr&target=en")
        reader.run(BUSY)
        reader.type("le chat dort", "#source")
        reader.until(
            "return document.querySelector('.status').textContent === 'The server is busy. Trying again in 1 s.'"
        )
        reader.until(TRANSLATED)  # by itself
        assert reader.text("#translation") == "the cat sleeps"
        assert reader.text(".status") == ""
    reader.type(" la pomme", "#source")
    reader.until("return document.querySelector('.status.refused')")
    assert reader.text(".status") == "The server does not answer. Is it still running?"


def test_a_key_is_asked_for(reader: Chromium, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret\n")
    with pages(served(), api_keys=str(tmp_path / "keys")) as address:
        reader.open(f"{address}/#source=fr&target=en&text=le+chat+dort")
        reader.until("return document.getElementById('key')")
        reader.type("wrong", "#key")
        reader.press("enter")
        reader.until("return document.querySelector('.status').textContent.startsWith('Invalid API key')")
        reader.until("return document.activeElement.id === 'key'")
        reader.type("secret")
        reader.press("enter")
        reader.until(TRANSLATED)
        assert reader.text("#translation") == "the cat sleeps"
        assert reader.text(".status") == ""
        assert reader.run("return document.activeElement.id") == "source"
        assert "secret" not in reader.run("return location.href")
        assert not [line for line in reader.logged() if "form" in line]
        reader.run("sessionStorage.clear()")
        reader.open(f"{address}/#source=fr&target=en&text=le+chat+dort")
        reader.until("return document.getElementById('key')")
        reader.type("secret", "#key")
        reader.click(".status button")
        reader.until(TRANSLATED)
        assert reader.run("return document.activeElement.id") == "source"


def test_the_studio_asks_for_a_key(reader: Chromium, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret\n")
    with pages(served(), api_keys=str(tmp_path / "keys")) as address:
        reader.open(f"{address}/studio#text=la+pomme")
        assert reader.run("return document.activeElement.id") == "key"
        reader.type("secret")
        reader.press("enter")
        reader.until("return document.documentElement.dataset.settled === 'true'")
        assert reader.text(".grown") != ""
        assert reader.run("return document.activeElement.id") == "source"
        reader.run("sessionStorage.clear()")


def test_dark_and_light_follow_the_system_and_the_reader(reader: Chromium, address: str) -> None:
    reader.run("localStorage.clear()")
    shade = "return getComputedStyle(document.body).backgroundColor"
    reader.dark(True)
    reader.open(f"{address}/")
    dark = reader.run(shade)
    reader.click(".theme")
    light = reader.run(shade)
    assert dark != light
    reader.open(f"{address}/")
    assert reader.run(shade) == light
    reader.dark(False)
    reader.run("localStorage.clear()")


def test_everything_is_reached_by_keys_and_has_a_name(reader: Chromium, address: str) -> None:
    reader.open(f"{address}/#source=fr&target=en&text=le+chat+dort")
    reader.until(TRANSLATED)
    reader.run("document.querySelector('.skip').focus()")
    seen = []
    for _ in range(14):
        reader.press("tab")
        seen.append(
            reader.run(
                "const one = document.activeElement; const style = getComputedStyle(one);"
                "return [one.ariaLabel || one.textContent, one.id === 'source' || style.outlineStyle !== 'none']"
            )
        )
    names = [name for name, _ in seen]
    for name in (
        "Studio",
        "Dark or light",
        "From",
        "Swap the languages",
        "To",
        "Text to translate",
        "Clear",
        "the",
        "Copy link",
        "Copy",
    ):
        assert name in names, names
    assert all(shown for name, shown in seen if name in ("Studio", "Clear", "the", "Copy")), seen


def test_on_a_telephone_nothing_is_cut(address: str, tmp_path: Path) -> None:
    with Chromium(tmp_path, 390, 844, phone=True) as telephone:
        telephone.open(f"{address}/#source=fr&target=en&text={quote('le chat dort. ' * 12)}")
        telephone.until(TRANSLATED)
        assert telephone.run("return document.documentElement.scrollWidth") == 390
        telephone.click("#translation .says", 4)
        telephone.until(
            "return document.querySelectorAll('.choice-item, .choices .note:not(.choices-title):not(:empty)').length"
        )
        left, right = telephone.run(
            "const box = document.querySelector('.choices').getBoundingClientRect(); return [box.left, box.right]"
        )
        assert left >= 0
        assert right <= 390
        assert telephone.trouble() == []

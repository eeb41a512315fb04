"""A person's walk through the studio in a real browser: watching, changes by click, a link, a saved page, every kind of model."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from regard.data.pictures import encoded_png
from regard.explain.beam_tree import beam_tree
from regard.explain.intervened import intervened
from regard.explain.what_if import Change
from serve.chromium import CHROMIUM, DRIVER, Chromium, waited
from serve.page_models import HOSTILE, captioner, pages, picture, served, translator, writer

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not both on PATH"
)

SETTLED = "return document.documentElement.dataset.settled === 'true'"
TEXT = "la pomme est rouge"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pages(served()) as found:
        yield f"{found}/studio"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def reader(downloads: Path) -> Iterator[Chromium]:
    with Chromium(downloads, 1280, 1400) as browser:
        yield browser


def opened(reader: Chromium, address: str, **state: object) -> None:
    reader.open(f"{address}#{urlencode(state)}")
    reader.until(SETTLED)


def translated(*changes: Change) -> str:
    return intervened(translator(), TEXT, changes).translate(beam=5, alpha=1.0)


def test_a_translation_grows_and_is_changed_by_clicks(reader: Chromium, address: str, downloads: Path) -> None:
    opened(reader, address, model="pocket", text=TEXT)
    assert reader.text(".grown").strip() == "the apple is red"
    _, tree = beam_tree(translator(), TEXT, beam=5)
    assert reader.run("return document.querySelectorAll('.tree-live .node').length") == len(tree.nodes)
    assert reader.texts(".tabs button:not([hidden])") == [
        "Alignment",
        "Heads",
        "One step",
        "Search",
        "Attribution",
        "Structure",
    ]

    reader.click(".words .word-button", 1)
    assert reader.text(".choices-title") == "“pomme”"
    reader.click(".choice-item")
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == translated(Change(mask="pomme"))
    assert reader.texts(".chip bdi") == ["without “pomme”"]
    assert reader.text(".before").startswith("before: ")

    reader.click("#tab-heads")
    reader.until("return document.querySelector('.silence-head')?.textContent")
    assert reader.text(".silence-head") == "Silence cross layer 2 head 1"
    reader.click(".silence-head")
    reader.until(SETTLED)
    both = (Change(mask="pomme"), Change(head=("cross", 1, 0)))
    assert reader.text(".grown").strip() == translated(*both)

    reader.click(".chip button")  # the mask
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == translated(both[1])
    reader.click(".grown .word-button", 1)
    reader.until("return document.querySelectorAll('.choice-item').length > 1")
    word = reader.run("return document.querySelectorAll('.choice-item')[1].ariaLabel")
    reader.click(".choice-item", 1)
    reader.until(SETTLED)
    forced = f"{translated(both[1]).split()[0]} {word}"
    said = translated(both[1], Change(prefix=forced))
    assert said.startswith(forced)
    assert reader.text(".grown").strip() == said
    assert reader.texts(".chip bdi") == ["cross layer 2 head 1 silent", f"begins with “{forced}”"]

    link = reader.run("return location.href")
    reader.open(link)
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == said
    assert reader.run("return document.querySelector('[aria-selected=true]').textContent") == "Heads"
    assert reader.run("return document.querySelector('.silence-head').textContent") == "Let speak cross layer 2 head 1"

    reader.click("#save")
    waited(lambda: (downloads / "pocket.html").exists())
    assert reader.trouble() == []
    reader.open((downloads / "pocket.html").as_uri())
    titles = reader.texts(".facts")
    assert titles[0].startswith("pocket · ")
    assert "silent" in titles[1] or "without cross layer 2 head 1" in titles[1]
    assert reader.trouble() == []


def test_every_view_is_drawn(reader: Chromium, address: str) -> None:
    for view, inside in [
        ("alignment", ".map"),
        ("heads", ".thumb"),
        ("step", ".step-table"),
        ("search", ".searches"),
        ("attribution", ".agreement"),
        ("structure", ".matrix"),
    ]:
        opened(reader, address, model="pocket", text=TEXT, view=view, pace=0)
        reader.until(f"return document.querySelectorAll('#view {inside}').length")  # drawn when its width is known
        assert reader.trouble() == [], view


def test_a_word_is_replaced_and_the_search_is_chosen(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", text=TEXT, pace=0)
    reader.click(".words .word-button", 1)
    reader.type("chat", ".choice-field input")
    reader.press("enter")
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == translated(Change(replace=("pomme", "chat")))
    reader.run(
        "const one = document.querySelector('select[aria-label=search]'); one.value = 'true'; one.dispatchEvent(new Event('change'))"
    )
    reader.until("return document.querySelector('input[aria-label=temperature]')")
    reader.run(
        "const one = document.querySelector('input[aria-label=temperature]'); one.value = '4'; one.dispatchEvent(new Event('input'))"
    )
    reader.until(SETTLED)
    expected = intervened(translator(), TEXT, [Change(replace=("pomme", "chat"))])
    [hot] = expected.model.translate([expected.text], sample=True, temperature=4.0, nbest=1)
    assert reader.text(".grown").split() == hot.text.split()
    assert "temperature=4" in reader.run("return location.hash")


def test_two_models_are_side_by_side_and_hostile_names_are_text(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", beside=HOSTILE, text="la pomme <b>est</b> rouge", pace=0)
    assert reader.run("return document.querySelectorAll('.live').length") == 2
    assert reader.texts(".live h2") == ["pocket", HOSTILE]
    assert reader.texts("#view .whose") == ["pocket", HOSTILE]
    assert reader.run("return document.querySelectorAll('main b, main img:not(.pixels)').length") == 0
    assert reader.trouble() == []


def test_what_does_not_fit_is_said_where_it_was_asked(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", text=TEXT, mask="poire")
    assert "no word 'poire'" in reader.text(".live .refused")
    assert reader.texts(".chip bdi") == ["without “poire”"]
    reader.click(".chip button")
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == "the apple is red"


BEAM = "input[aria-label=beam]"


def test_a_number_out_of_bounds_is_not_searched_and_is_said(reader: Chromium, address: str) -> None:
    """Its first digit is not searched either; no tree of another search stays, and no link or page is made of it."""
    opened(reader, address, model="pocket", text=TEXT, pace=0)
    limit = "must be a whole number from 1 to 10"
    for typed, said in (
        ("99", f"beam = 99: {limit}"),
        ("0", f"beam = 0: {limit}"),
        ("-3", f"beam = -3: {limit}"),
        ("2.5", f"beam = 2.5: {limit}"),
        ("e", f"beam: {limit}"),
    ):
        reader.retype(typed, BEAM)
        reader.until(f"return document.querySelector('.live .refused').textContent === {said!r}")
        reader.until(SETTLED)
        assert reader.run("return document.querySelectorAll('.tree-live .node, #view .card').length") == 0, typed
        assert reader.run("return document.querySelector(arguments[0]).ariaInvalid", BEAM) == "true"
    for button in ("#save", "#link"):
        reader.click(button)
        reader.until(f"return document.querySelector('{button}').textContent === {said!r}")
    reader.retype("10", BEAM)
    reader.until(SETTLED)
    assert reader.run("return document.querySelector('.live .refused').hidden")
    _, tree = beam_tree(translator(), TEXT, beam=10)
    assert reader.run("return document.querySelectorAll('.tree-live .node').length") == len(tree.nodes)
    opened(reader, address, model="pocket", text=TEXT, beam=11)  # a link
    assert reader.text(".live .refused") == f"beam = 11: {limit}"
    opened(reader, address, model="verse", text="the", max_length=4, temperature=0)
    assert reader.text(".live .refused") == "temperature = 0: must be a number from 0.05 to 10"
    assert reader.trouble() == []


def test_a_word_that_occurs_twice_is_masked_twice_and_it_is_said(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", text="le chat est le chat", pace=0)
    reader.click(".words .word-button", 4)
    assert reader.text(".choices-title") == "“chat”, 2 times"
    assert reader.text(".choice-item") == "Mask each “chat”: the model does not see them"
    assert reader.run("return document.querySelector('.choice-field input').placeholder") == "Replace each “chat” by"
    reader.click(".choice-item")
    reader.until(SETTLED)
    assert reader.texts(".chip bdi") == ["without each “chat”"]
    assert reader.texts(".words .gone") == ["chat", "chat"]
    opened(reader, address, model="pocket", text="le chat est le chat", replace="chat=pomme", pace=0)
    assert reader.texts(".chip bdi") == ["each “chat” becomes “pomme”"]


def test_a_link_to_what_is_not_here_says_so(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pockets", beside="mood", view="dreams", text=TEXT, pace=0)
    assert reader.text(".notice") == (
        "This server has no model “pockets”. This is “pocket”. The server has no other model “mood” of this task to show "
        "beside it. There is no view “dreams” here. This is “Alignment”."
    )
    reader.click("#tab-heads")
    assert reader.run("return document.querySelector('.notice').hidden")
    opened(reader, address, model="pocket", view="mixing", text=TEXT, pace=0)  # a Transformer has none
    reader.until("return document.querySelector('[aria-selected=true]').textContent === 'Alignment'")
    assert reader.text(".notice") == "There is no view “Mixing” here. This is “Alignment”."
    opened(reader, address, model="pocket", view="search", text=TEXT, pace=0)
    assert reader.run("return document.querySelector('.notice').hidden")


def test_the_root_of_the_tree_has_a_name(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", text=TEXT, pace=0)
    names = reader.run("return [...document.querySelectorAll('.tree-live .node')].map((one) => one.ariaLabel)")
    assert names[0] == "the beginning: nothing is written yet, score 0"
    assert not [name for name in names if name.startswith(":")]
    reader.hover(".tree-live .node circle")
    assert reader.text("#tip strong") == "the beginning"


BUSY = """
const real = fetch;
let refusals = 1;
window.fetch = (path, ...rest) => (path === "/studio/watch" && refusals-- > 0
  ? Promise.resolve(new Response('{"error": "Slowdown"}', { status: 429, headers: { "Retry-After": "1" } })) : real(path, ...rest));
"""


def test_a_busy_server_is_asked_again(reader: Chromium, address: str) -> None:
    opened(reader, address, model="pocket", text="la pomme", pace=0)
    reader.run(BUSY)
    reader.type(" est rouge", "#source")
    reader.until(
        "return document.querySelector('.live .refused').textContent === 'The server is busy. Trying again in 1 s.'"
    )
    reader.until("return document.querySelector('.live .refused').hidden")
    reader.until(SETTLED)
    assert reader.text(".grown").strip() == "the apple is red"


TWICE = """
const real = fetch;
window.asked = 0;
window.fetch = (path, options) => {
  if (path !== "/studio/explain") return real(path, options);
  window.asked += 1;
  return new Promise((resolve, reject) => {
    options.signal.addEventListener("abort", () => reject(new DOMException("given up", "AbortError")));
    if (window.asked > 1) resolve(new Response('{"explanations": ["drawn"]}'));
  });
};
return (async () => {
  const { explanationOf } = await import("/page/views.js");
  const ask = (signal) => explanationOf({ text: "un" }, { name: "any", task: "translate" }, "heads", null, signal);
  const [first, second] = [new AbortController(), new AbortController()];
  const given = ask(first.signal).catch((error) => error.name);
  first.abort(); // and at once somebody else asks
  const answer = await ask(second.signal).catch((error) => error.name);
  return [await given, answer, await ask(second.signal), window.asked];
})();
"""


def test_an_explanation_that_was_given_up_is_asked_for_again(reader: Chromium, address: str) -> None:
    reader.open(address)
    reader.until(SETTLED)
    assert reader.run(TWICE) == ["AbortError", "drawn", "drawn", 2]


def test_a_language_model_draws(reader: Chromium, address: str) -> None:
    opened(reader, address, model="verse", text="the apple", max_length=8, top_k=5, seed=3, pace=0)
    [expected] = writer().generate(["the apple"], sample=True, top_k=5, seed=3, max_length=8)
    tokens = reader.run(
        "return [...document.querySelectorAll('.grown .token')].map((one) => one.ariaLabel.split(': ')[1])"
    )
    assert tokens[: len(expected.tokens)] == expected.tokens
    assert "5 of " in reader.text(".head .note")
    assert set(reader.texts(".candidates tr.cut td:nth-child(4)")) == {"cut by top-k"}
    reader.click(".grown .token", 0)
    assert reader.texts(".candidates tr.taken th") == expected.tokens[:1]
    assert reader.texts(".tabs button:not([hidden])") == ["Heads", "One step", "Mixing"]
    assert reader.run("return document.querySelectorAll('#view .thumb').length") == 4
    assert reader.trouble() == []


def test_classifiers_and_pictures(reader: Chromium, address: str) -> None:
    opened(reader, address, model="mood", text=TEXT)
    assert set(reader.texts(".live .bars th")) == {"no <b>", "yes"}
    encoded = base64.b64encode(encoded_png(picture())).decode()
    opened(reader, address, model="bars", picture=encoded, picture_name="<i>.png")
    assert set(reader.texts(".live .bars th")) == {"flat", "tall"}
    assert reader.run("return document.querySelectorAll('.live .heat').length") > 4
    opened(reader, address, model="scenes", picture=encoded, beam=2)
    [caption] = captioner().caption([picture()], beam=2)
    assert reader.text(".live .grown") == (caption.text or "(nothing)")
    assert reader.run("return document.querySelectorAll('.live .heat').length") == len(caption.text.split())
    assert reader.trouble() == []


def test_on_a_telephone_nothing_is_cut(address: str, tmp_path: Path) -> None:
    with Chromium(tmp_path, 390, 844, phone=True) as telephone:
        for state in ({"model": "pocket", "text": TEXT}, {"model": "verse", "text": "the", "max_length": 6}):
            telephone.open(f"{address}#{urlencode(state, quote_via=quote)}&pace=0")
            telephone.until(SETTLED)
            assert telephone.run("return document.documentElement.scrollWidth") == 390
            assert telephone.trouble() == []

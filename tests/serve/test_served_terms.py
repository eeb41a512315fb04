"""Glossaries and protected strings: the owner's and a request's, that no answer depends on who asks beside, and what is refused."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from regard.errors import ConfigError, DataError
from regard.search.options import SearchOptions
from regard.serve.models import ServedModels
from regard.serve.served_terms import RequestTerms, glossary_files, owned_terms, terms_of_request
from regard.serve.settings import LimitSettings, ServeSettings
from regard.tasks.translate.terms.glossary import Entry, Glossary, said
from regard.tasks.translate.terms.guided import Terms
from regard.text.protected import Protection
from serve.running import Running, running
from tasks.bundles import TEXTS

GLOSSARY = [["chat", "tomcat"], ["pomme", ["fruit", "fruits"]]]
SENTENCE = "le chat de {name} mange une pomme"


@pytest.fixture
def terms_file(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("# pets\nchat\ttomcat\nchien\thound|hounds\n", encoding="utf-8")
    return path


def with_terms(models: ServedModels, **settings: Any) -> ServedModels:
    """The same models with the terms of an owner."""
    directions = [direction for model in models.all() for direction in model.languages]
    return ServedModels(models.all(), owned_terms(ServeSettings.parse(settings), directions))


def translated(server: Running, text: str, **fields: Any) -> str:
    answer = server.translate(q=text, source="fr", target="en", **fields)
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["translatedText"]
    return found


def test_a_request_brings_terms_and_strings_by_every_route(server: Running, models: ServedModels) -> None:
    [step] = models.translator("fr", "en").steps
    glossary = Glossary([Entry("chat", ("tomcat",), 1), Entry("pomme", ("fruit", "fruits"), 2)], "fr", "en")
    [expected] = Terms(Protection(), glossary).search(step.translator, [SENTENCE], SearchOptions(beam=2))
    given = {"glossary": GLOSSARY, "protect": ["default"]}
    assert translated(server, SENTENCE, **given) == expected.text
    form = {"glossary": "# pets\nchat\ttomcat\n\npomme\tfruit|fruits\n", "protect": "default"}
    answer = server.post("/translate", data={"q": SENTENCE, "source": "fr", "target": "en", **form})
    assert answer.json() == {"translatedText": expected.text}
    for model in ({}, {"model": "fr-en"}):
        body = {"texts": [SENTENCE], "source": "fr", "target": "en", "alignment": True, **given, **model}
        [one] = server.post("/v1/regard/translate", json=body).json()["translations"]
        assert one["text"] == expected.text
        assert [use["said"] for use in one["terms"]] == [use.said for use in expected.terms]
        assert [one["text"][start:end] for start, end in one["protected"]] == ["{name}"]
        assert one["alignment"] == [list(link) for link in expected.alignment]
    page = translated(server, f"<p>{SENTENCE}</p>", format="html", **given)
    assert page.startswith("<p>")
    assert page.count("{name}") == 1
    assert "tomcat" in page
    kept = server.post(
        "/translate_file", data={"source": "fr", "target": "en", **form}, files={"file": ("a.txt", SENTENCE.encode())}
    ).json()["translatedFileUrl"]
    assert httpx.get(kept, timeout=60).text == expected.text


def test_who_asks_for_nothing_gets_what_he_always_got(server: Running) -> None:
    plain = translated(server, SENTENCE)
    for nothing in (
        {"glossary": None, "protect": None},
        {"glossary": [], "protect": []},
        {"glossary": "", "protect": ""},
    ):
        assert translated(server, SENTENCE, **nothing) == plain
    assert LibreTranslateAPI(server.url).translate(SENTENCE, "fr", "en") == plain
    assert translated(server, SENTENCE, glossary=[["absent", "x"]], protect=["absent"]) == plain


def test_the_owners_terms_are_those_of_every_request(models: ServedModels, terms_file: Path) -> None:
    owned = with_terms(models, glossary={"fr-en": str(terms_file)}, protect=[r"\{\w+\}", "numbers"])
    [step] = owned.translator("fr", "en").steps
    assert step.terms is not None
    texts = [SENTENCE, "le chien dort", "je suis 12"]
    expected = [one.text for one in step.terms.search(step.translator, texts, SearchOptions(beam=2))]
    with running(owned, cache=10) as found:
        assert [translated(found, text) for text in texts] == expected
        assert [translated(found, text) for text in texts] == expected  # from the cache
        for text, line in (("le chien dort", 3), ("le chat dort", 1)):
            body = {"texts": [text], "source": "fr", "target": "en", "glossary": [["chat", "puss"]]}
            [one] = found.post("/v1/regard/translate", json=body).json()["translations"]
            [use] = one["terms"]  # the request's terms come before the owner's
            assert use["targets"] == (["hound", "hounds"] if line == 3 else ["puss"])
            assert use["line"] == line
        assert [translated(found, text) for text in texts] == expected  # what a request brings is kept for nobody
        assert found.translate(q="the cat", source="en", target="de").status_code == 200


def test_no_answer_depends_on_who_else_asks(models: ServedModels, terms_file: Path) -> None:
    """Under load: requests with terms of their own, with the owner's alone, lists and single sentences."""
    owned = with_terms(models, glossary={"fr-en": str(terms_file)}, protect=["default"])
    [step] = owned.translator("fr", "en").steps
    texts = [*TEXTS[:12], SENTENCE]
    brought = [None, [["lapin", "hare"], ["chat", "puss"]], [["garçon", ["lad", "lads"]], ["le", "that"]]]
    expected: dict[tuple[int, str], str] = {}
    for number, glossary in enumerate(brought):
        asked = terms_of_request(glossary, None, LimitSettings())
        terms = step.terms if asked is None else asked.beside(step.terms, ("fr", "en"))
        assert terms is not None
        for text in texts:
            [one] = terms.search(step.translator, [text], SearchOptions(beam=2))
            expected[number, text] = one.text
    draw = random.Random(5)
    plans = [(number % 3, draw.sample(texts, draw.choice((1, 1, 4, 9)))) for number in range(24)]

    async def asked_together(url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:

            async def ask(number: int, own: list[str]) -> None:
                body = {"q": own, "source": "fr", "target": "en"}
                if brought[number] is not None:
                    body["glossary"] = brought[number]  # type: ignore[assignment]
                answer = await client.post("/translate", json=body)
                assert answer.json()["translatedText"] == [expected[number, text] for text in own]

            await asyncio.gather(*(ask(*plan) for plan in plans))

    with running(owned, batching={"texts": 8, "delay": 0.01}) as found:
        asyncio.run(asked_together(found.url))


def test_through_a_third_language_strings_stay_and_glossaries_are_refused(server: Running) -> None:
    answer = server.translate(q="le chat de {name} dort", source="fr", target="de", protect=["default"])
    assert answer.json()["translatedText"].count("{name}") == 1
    answer = server.translate(q="le chat dort", source="fr", target="de", glossary=GLOSSARY)
    said_ = "glossary: fr to de goes through en, where no term can be followed; leave it out"
    assert (answer.status_code, answer.json()) == (400, {"error": said_})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"glossary": 3}, "glossary: not a list; give pairs of a term and its translation"),
        ({"glossary": [["chat"]]}, "glossary[0]: no pair; give pairs"),
        ({"glossary": [["chat", "cat"], "chien"]}, "glossary[1]: no pair"),
        ({"glossary": [["chat", 3]]}, "glossary[0]: not texts"),
        ({"glossary": [["chat", [["cat"]]]]}, "glossary[0]: not texts"),
        ({"glossary": [["%", "cat"]]}, "glossary[0]: the term '%' has no word; write one, or leave it out"),
        ({"glossary": [["chat", []]]}, "glossary[0]: the translation '' has no word"),
        ({"glossary": [["chat", "c" * 101]]}, "has 101 characters; at most 100 are allowed"),
        ({"glossary": [["a\x1b[2J" + "c" * 100, "c"]]}, "a\\x1b[2Jccccccccccccccc' .. has 105 characters"),
        (
            {"glossary": [["chat", list("abcdefghijk")]]},
            "glossary[0]: 11 translations; a term of a request has at most 10",
        ),
        (
            {"glossary": [["chat", "cat"]] * 201},
            "glossary: 201 entries; this server allows at most 200 (limits.glossary)",
        ),
        ({"protect": {}}, "protect: not a list; give strings, default or numbers"),
        ({"protect": [3]}, "protect[0]: not a text"),
        ({"protect": ["a", " "]}, "protect[1]: ' ' is nothing to protect"),
        ({"protect": ["a" * 101]}, "has 101 characters"),
        ({"protect": ["a"] * 21}, "protect: 21 entries; this server allows at most 20 (limits.protect)"),
    ],
)
def test_what_a_request_may_not_bring(server: Running, fields: dict[str, Any], message: str) -> None:
    answer = server.translate(q="le chat", source="fr", target="en", **fields)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_a_text_with_terms_is_a_sentence(server: Running) -> None:
    body = {"texts": ["chat " * 401], "source": "fr", "target": "en", "protect": ["a"]}
    for model in ({}, {"model": "fr-en"}):
        answer = server.post("/v1/regard/translate", json={**body, **model})
        assert answer.status_code == 400
        assert (
            "a text of 2005 characters: with a glossary or protected strings it may have 2000"
            in answer.json()["error"]["message"]
        )


def test_a_text_beside_the_owners_terms_is_a_sentence_too(models: ServedModels) -> None:
    with running(with_terms(models, protect=["numbers"])) as found:
        long = "1 1 chat " * 300
        answer = found.post("/v1/regard/translate", json={"texts": [long], "source": "fr", "target": "en"})
        assert answer.status_code == 400
        assert "send sentences" in answer.json()["error"]["message"]
        assert translated(found, long).count("1") >= 600  # this route cuts it into sentences


def test_only_a_line_feed_ends_a_line_of_a_glossary() -> None:
    separators = "\u2028\x85\x0b\x1c"
    found = terms_of_request(f"chat\ttom{separators}cat\r\n\r\nchien\thound\r\n", None, LimitSettings())
    assert found is not None
    assert [(entry.source, entry.targets, entry.line) for entry in found.entries] == [
        ("chat", ("tom cat",), 1),
        ("chien", ("hound",), 2),
    ]


def test_terms_of_a_request_are_made_in_a_thread(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    plain_beside = RequestTerms.beside

    def beside(self: RequestTerms, *given: Any) -> Terms:
        threads.append(threading.current_thread().name)
        return plain_beside(self, *given)

    monkeypatch.setattr(RequestTerms, "beside", beside)
    assert "tomcat" in translated(server, SENTENCE, glossary=GLOSSARY)
    for model in ({}, {"model": "fr-en"}):
        body = {"texts": [SENTENCE], "source": "fr", "target": "en", "protect": ["default"], **model}
        assert server.post("/v1/regard/translate", json=body).status_code == 200
    assert len(threads) == 3
    assert "server" not in threads  # that of the event loop


def test_terms_are_made_once_whoever_asks() -> None:
    brought = RequestTerms(entries=(Entry("chat", ("tomcat",), 1),))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: brought.beside(None, ("fr", "en")), range(50)))
    assert len(set(map(id, found))) == 1


def test_an_expression_of_a_request_is_taken_to_the_letter(server: Running) -> None:
    hostile = "(a+)+$"
    found = translated(server, f"le chat {hostile} dort {'a' * 60}!", protect=[hostile])
    assert found.count(hostile) == 1


def test_a_slow_expression_of_the_owner_ends_a_request_and_not_the_server(models: ServedModels) -> None:
    with running(with_terms(models, protect=[r"(a|aa)+$"]), batching={"workers": 1}) as found:
        answer = found.translate(q=f"le chat dort {'a' * 60}!", source="fr", target="en")
        assert answer.status_code == 400
        assert "takes more than 1 s" in answer.json()["error"]
        assert translated(found, "le chat dort")


def test_the_flags_of_glossaries(models: ServedModels, terms_file: Path, tmp_path: Path) -> None:
    assert glossary_files(["a.tsv", "fr-en=b.tsv"]) == {"": "a.tsv", "fr-en": "b.tsv"}
    assert glossary_files(["dir/fr-en=b.tsv"]) == {"": "dir/fr-en=b.tsv"}
    with pytest.raises(ConfigError, match="two files without their languages; write one for each direction"):
        glossary_files(["a.tsv", "b.tsv"])
    with pytest.raises(ConfigError, match="fr-en has two files"):
        glossary_files(["fr-en=a.tsv", "fr-en=b.tsv"])
    both, one = [("fr", "en"), ("en", "de")], [("fr", "en")]
    alone = owned_terms(ServeSettings.parse({"glossary": str(terms_file)}), one)["fr", "en"].glossary
    assert alone is not None
    assert len(alone) == 2
    settings = ServeSettings.parse({"glossary": str(terms_file)})
    with pytest.raises(ConfigError, match=r"the server translates fr-en, en-de; say which .*--glossary fr-en="):
        owned_terms(settings, both)
    with pytest.raises(
        ConfigError, match=r"glossary\.fr-de = .*: no model translates that directly; there is fr-en, en-de"
    ):
        owned_terms(ServeSettings.parse({"glossary": {"fr-de": str(terms_file)}}), both)
    with pytest.raises(ConfigError, match=r"glossary\.fr-en = .*: this direction has two files; join them"):
        owned_terms(ServeSettings.parse({"glossary": {"": str(terms_file), "fr-en": str(terms_file)}}), one)
    with pytest.raises(DataError, match="no such file"):
        owned_terms(ServeSettings.parse({"glossary": {"fr-en": str(tmp_path / "none.tsv")}}), one)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(a", "protect '(a': not a regular expression"), ("", "protect '': matches nothing; write a regular expression")],
)
def test_a_wrong_pattern_is_refused_with_the_settings(pattern: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ServeSettings.parse({"protect": [pattern]}, "serve.toml")
    assert message in str(refused.value)


def test_the_patterns_of_owner_and_request_fit_together(server: Running) -> None:
    patterns = [*map(str, range(30)), "0"]  # one twice
    brought = [f"x{number}" for number in range(20)]
    owned = with_terms(server.service.models, protect=patterns)
    with running(owned, protect=patterns) as found:
        assert translated(found, "x0 le chat x19 3", protect=brought).count("x19") == 1
    with pytest.raises(ConfigError) as refused:
        ServeSettings.parse({"protect": [*patterns, "30"]}, "serve.toml")
    assert str(refused.value) == (
        "serve.toml: protect has 31 patterns, and a request may bring limits.protect = 20: together at most 50; "
        "set limits.protect = 19, or join patterns with |"
    )
    assert len(ServeSettings.parse({"protect": [*patterns, "30"], "limits": {"protect": 19}}).protect) == 31


def test_terms_before_others() -> None:
    own = Glossary([Entry("chat", ("puss",), 1)], "fr", "en")
    other = Glossary([Entry("chat noir", ("panther",), 7), Entry("chien", ("hound",), 8)], "fr", "en")
    found = own.before(other).matches("le chat noir et le chien")
    assert [(match.text, match.entry.line) for match in found] == [("chat", 1), ("chien", 8)]
    assert len(own.before(other)) == 3
    assert len(own) == 1
    assert said("a hound", own.before(other).accepted(found[1])) == "hound"

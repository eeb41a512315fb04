"""A second model chooses: numbers worked out by hand, the same from n best lists and scores, and what is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.bundle.config import Languages, TextsConfig
from regard.engine.forced import ForcedScore
from regard.errors import ConfigError, SearchError
from regard.search.options import SearchOptions
from regard.tasks.load import load_translator
from regard.tasks.translate.reranking import Reranker, check_direction
from regard.tasks.translate.translation import Translation
from tasks.bundles import TEXTS, random_bundle


@dataclass
class Language:
    """A language model that knows log p of some texts."""

    logprobs: dict[str, float]
    texts: TextsConfig = TextsConfig(documents="line", context=9)  # noqa: RUF009 (frozen)
    bundle: Any = None

    def score(self, texts: Sequence[str]) -> list[ForcedScore]:
        return [ForcedScore(self.logprobs[text], 0.0, 1, []) for text in texts]


@dataclass
class Reverse:
    """A reverse translator that knows log p of some (text, source)."""

    logprobs: dict[tuple[str, str], float]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[ForcedScore]:
        return [ForcedScore(self.logprobs[pair], 0.0, 1, []) for pair in zip(sources, targets, strict=True)]


def reply(text: str, logprob: float) -> Translation:
    return Translation("how are you", text, logprob, text.split(), logprob)


DULL, WARM, LONG = reply("fine", -1.0), reply("glad you ask", -2.5), reply("i do not know", -1.5)
FOUND = Translation(**{**vars(DULL), "alternatives": (DULL, LONG, WARM)})
KNOWN = {"fine": -1.5, "i do not know": -2.0, "glad you ask": -6.0}
OPTIONS = SearchOptions(beam=3, nbest=3, alpha=0.0)


def test_a_language_model_takes_off_what_is_probable_anyway() -> None:
    [best] = Reranker(Language(KNOWN), weight=0.5, among=3).ranked([FOUND], OPTIONS)  # type: ignore[arg-type]
    # log p(y|x) - log p(y) / 2: -1 + 0.75, -1.5 + 1, -2.5 + 3
    assert [(one.text, one.score) for one in best.alternatives] == [
        ("glad you ask", pytest.approx(0.5)),
        ("fine", pytest.approx(-0.25)),
        ("i do not know", pytest.approx(-0.5)),
    ]
    assert (best.text, best.logprob, best.second_logprob) == ("glad you ask", -2.5, -6.0)


def test_lengths_are_normalised_after_both_models_spoke() -> None:
    options = SearchOptions(beam=3, nbest=3, alpha=1.0)
    [best] = Reranker(Language(KNOWN), weight=0.1, among=3).ranked([FOUND], options)  # type: ignore[arg-type]
    # -1 + 0.15 over 1 token, -1.5 + 0.2 over 4, -2.5 + 0.6 over 3
    assert {one.text: one.score for one in best.alternatives} == pytest.approx(
        {"fine": -0.85, "i do not know": -0.325, "glad you ask": -1.9 / 3}
    )
    assert best.text == "i do not know"


def test_a_reverse_translator_asks_whether_the_source_can_be_told() -> None:
    known = {
        (text, "how are you"): value
        for text, value in (("fine", -4.0), ("i do not know", -9.0), ("glad you ask", -2.0))
    }
    one = SearchOptions(beam=3, alpha=0.0)
    [best] = Reranker(Reverse(known), weight=1.0, among=3).ranked([FOUND], one)  # type: ignore[arg-type]
    assert (best.text, best.score, best.alternatives) == ("glad you ask", -4.5, ())
    [best] = Reranker(Reverse(known), weight=0.0, among=3).ranked([FOUND], one)  # type: ignore[arg-type]
    assert best.text == "fine", "without a weight the translator decides alone"


def test_an_empty_reply_tells_least() -> None:
    empty = Translation(**{**vars(reply("", -0.5)), "alternatives": (reply("", -0.5), DULL)})
    known = {("fine", "how are you"): -4.0}
    [best] = Reranker(Reverse(known), weight=1.0, among=2).ranked([empty], OPTIONS)  # type: ignore[arg-type]
    assert [(one.text, one.second_logprob) for one in best.alternatives] == [("fine", -4.0), ("", -4.0)]
    [best] = Reranker(Reverse(known), weight=0.0, among=2).ranked([empty], OPTIONS)  # type: ignore[arg-type]
    assert best.text == ""


def test_an_answer_does_not_depend_on_the_others_of_its_call() -> None:
    empty = Translation(**{**vars(reply("", -0.5)), "alternatives": (reply("", -0.5), DULL)})
    alone = Translation(**{**vars(reply("", -0.5)), "alternatives": (reply("", -0.5), reply(" ", -0.7))})
    known = {
        ("fine", "how are you"): -4.0,
        ("i do not know", "how are you"): -90.0,
        ("glad you ask", "how are you"): -1.0,
    }
    reranker = Reranker(Reverse(known), weight=1.0, among=2)  # type: ignore[arg-type]
    together = reranker.ranked([FOUND, empty, alone], OPTIONS)
    assert together == [reranker.ranked([one], OPTIONS)[0] for one in (FOUND, empty, alone)]
    assert [one.text for one in together] == ["glad you ask", "fine", ""]


def test_a_translator_with_a_second_model_ranks_its_own_hypotheses(tmp_path: Path) -> None:
    translator, reverse = (load_translator(random_bundle(tmp_path / name)) for name in ("one", "other"))
    texts = [*TEXTS[:3], ""]
    plain = translator.translate(texts, beam=6, nbest=6, max_length=8, alpha=1.0)
    translator.reranker = Reranker(reverse, weight=0.7, among=6)
    found = translator.translate(texts, beam=6, max_length=8, alpha=1.0)
    for text, before, after in zip(texts[:3], plain, found, strict=False):
        candidates = [one for one in before.alternatives if one.text.strip()]
        scores = reverse.score([one.text for one in candidates], [text] * len(candidates))
        own = {
            one.text: (one.logprob + 0.7 * score.logprob) / max(1, len(one.tokens))
            for one, score in zip(candidates, scores, strict=True)
        }
        if after.text.strip():
            assert own[after.text] == pytest.approx(after.score, abs=1e-4)
            assert after.score == pytest.approx(max(own.values()), abs=1e-4)
        assert after.alternatives == ()
    assert found[3].text == ""
    assert translator.towards(None, None).reranker is not None


def test_searches_that_do_not_go_with_it() -> None:
    reranker = Reranker(Language(KNOWN), among=4)  # type: ignore[arg-type]
    assert reranker.widened(SearchOptions(sample=True, nbest=2)).nbest == 4
    for options, message in (
        (SearchOptions(beam=3), "beam = 3: a beam gives as many hypotheses, and rerank_among = 4"),
        (SearchOptions(beam=8, nbest=5), "nbest = 5: above rerank_among = 4"),
        (SearchOptions(mbr=9), "mbr chooses by itself"),
        (SearchOptions(exact=True), "exact chooses by itself"),
    ):
        with pytest.raises(SearchError, match=message):
            reranker.widened(options)


def test_models_and_numbers_that_do_not_go_with_it() -> None:
    with pytest.raises(ConfigError, match="rerank_weight = -1: must be a number from 0 to 100"):
        Reranker(Language(KNOWN), weight=-1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rerank_weight = nan"):
        Reranker(Language(KNOWN), weight=float("nan"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rerank_among = 1: give at least 2"):
        Reranker(Language(KNOWN), among=1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r'train one with data\.documents = "line"'):
        Reranker(Language(KNOWN, TextsConfig(documents="file", context=9)))  # type: ignore[arg-type]


def test_a_translator_of_another_direction_is_refused() -> None:
    """Languages are compared where both name them, without their regions."""

    def checked(source: str | None, target: str | None) -> None:
        reverse = Reverse({})
        reverse.languages = Languages(source=source, target=target)  # type: ignore[attr-defined]
        translator = SimpleNamespace(languages=Languages(source="fr", target="en"))
        check_direction(Reranker(reverse), translator, "demo")  # type: ignore[arg-type]

    for source, target in (("en", "fr"), ("en-GB", "fr_CA"), (None, "fr"), ("en", None), (None, None)):
        checked(source, target)
    for source, target in (("fr", "en"), ("en", "de"), ("de", None), (None, "en")):
        with pytest.raises(ConfigError, match=r"demo: translates .* takes a translator of the other direction"):
            checked(source, target)
    check_direction(Reranker(Language(KNOWN)), SimpleNamespace(), "demo")  # type: ignore[arg-type]

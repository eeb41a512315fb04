"""Chooses among the n best of a translator by a second model: replies that are not dull, or translations by a noisy channel.

    a language model:      score(x, y) = (log p(y|x) - w log p(y)) / length(y)^alpha       MMI-antiLM, Li et al. 2016, equation 9
    a reverse translator:  score(x, y) = (log p(y|x) + w log p(x|y)) / length(y)^alpha     MMI-bidi, equation 10; its 1 - w is left out

The most probable reply is often one that fits everything, such as "I don't know". The first takes off what is probable anyway; the second
asks whether the input could be told from the reply. Both models give log-probabilities of whole texts, so their vocabularies may differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError, SearchError, shown
from regard.search.options import SearchOptions
from regard.search.ranking import Ranking
from regard.tasks.translate.translation import Translation
from regard.text.sentences import base_language

if TYPE_CHECKING:
    from regard.tasks.generate.writer import Writer
    from regard.tasks.translate.translator import Translator

WEIGHT, AMONG = 0.5, 5  # as many as the usual beam gives
LARGEST_WEIGHT = 100.0


@dataclass(frozen=True)
class Reranker:
    """A second model, and how it takes part."""

    model: "Writer | Translator"
    """A language model of lines, or a translator of the other direction."""
    weight: float = WEIGHT
    among: int = AMONG
    """How many hypotheses of each text are compared."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.weight <= LARGEST_WEIGHT:
            raise ConfigError(f"rerank_weight = {self.weight!r}: must be a number from 0 to {LARGEST_WEIGHT:g}")
        if self.among < 2:
            raise ConfigError(f"rerank_among = {self.among}: give at least 2 hypotheses to choose from")
        texts = getattr(self.model, "texts", None)
        if texts is not None and texts.documents != "line":
            name = "the language model" if self.model.bundle is None else shown(self.model.bundle.name)
            raise ConfigError(
                f"{name}: it continues one running text (data.documents = {texts.documents!r}) and does not know where a reply ends; "
                'train one with data.documents = "line"'
            )

    def widened(self, options: SearchOptions) -> SearchOptions:
        """The options of the search for the hypotheses. Options that leave too few of them are refused."""
        if options.mbr or options.exact:
            name = "mbr" if options.mbr else "exact"
            raise SearchError(f"{name} chooses by itself, and so does reranking: choose one")
        if options.nbest > self.among:
            raise SearchError(f"nbest = {options.nbest}: above rerank_among = {self.among}; raise that")
        if options.kind in ("beam", "groups") and options.beam < self.among:
            raise SearchError(
                f"beam = {options.beam}: a beam gives as many hypotheses, and rerank_among = {self.among} are compared; "
                f"raise beam to {self.among}, or sample"
            )
        return replace(options, nbest=self.among)

    def ranked(self, translations: Sequence[Translation], options: SearchOptions) -> list[Translation]:
        """For each text its best hypothesis by both models; with `nbest` the n best. options: those that were given."""
        ranking = Ranking(options.alpha, options.length_form)
        candidates = [one.alternatives or (one,) for one in translations]
        second = iter(self._logprobs(candidates))
        sign = -1.0 if self._is_language_model else 1.0
        results = []
        for own in candidates:
            rescored = []
            for candidate in own:
                logprob = next(second)
                joint = candidate.logprob + sign * self.weight * logprob
                score = ranking.score(joint, len(candidate.tokens))
                rescored.append(replace(candidate, score=score, second_logprob=logprob))
            rescored.sort(key=lambda one: (self._tells_nothing(one), -one.score))
            best = rescored[0]
            results.append(best if options.nbest == 1 else replace(best, alternatives=tuple(rescored[: options.nbest])))
        return results

    @property
    def _is_language_model(self) -> bool:
        return hasattr(self.model, "texts")

    def _tells_nothing(self, candidate: Translation) -> bool:
        """Whether nothing can be told from a text because it is blank. It comes last: log p(x|y) is the logarithm of 0."""
        return self.weight > 0.0 and not self._is_language_model and not candidate.text.strip()

    def _logprobs(self, candidates: Sequence[Sequence[Translation]]) -> list[float]:
        """log p(y) of each candidate of each source, or log p(x|y). A blank text has the least of those of its own source."""
        every = [candidate for own in candidates for candidate in own]
        model: Any = self.model
        if self._is_language_model:
            return [score.logprob for score in model.score([candidate.text for candidate in every])]
        filled = [candidate for candidate in every if candidate.text.strip()]
        scores = iter(model.score([candidate.text for candidate in filled], [candidate.source for candidate in filled]))
        logprobs = []
        for own in candidates:
            known = [next(scores).logprob if candidate.text.strip() else None for candidate in own]
            least = min((value for value in known if value is not None), default=0.0)
            logprobs += [least if value is None else value for value in known]
        return logprobs


def check_direction(reranker: Reranker, translator: "Translator", name: Any) -> None:
    """Refuse a reverse translator of other languages than those of the translator. Languages that are not known may be any.

    name: the reverse translator's, for messages.
    """
    own = getattr(reranker.model, "languages", None)
    if own is None:  # a language model
        return
    languages = translator.languages
    for reads, writes in ((own.source, languages.target), (languages.source, own.target)):
        if reads and writes and base_language(reads) != base_language(writes):
            raise ConfigError(
                f"{name}: translates {own.source or '?'} to {own.target or '?'}; reranking {languages.source or '?'} to "
                f"{languages.target or '?'} takes a translator of the other direction, or a language model"
            )


def load_reranker(path: Any, weight: float = WEIGHT, among: int = AMONG, device: Any = "cpu") -> Reranker:
    """The reranker of a run or bundle: a language model of lines, or a translator of the other direction."""
    from regard.tasks.load import loaded, open_given

    bundle = open_given(path)
    if bundle.config.task not in ("generate", "translate"):
        raise ConfigError(
            f"{path}: a model to {bundle.config.task}; reranking takes a language model, or a translator of the other direction"
        )
    return Reranker(loaded(bundle, device, "auto", "float32"), weight, among)

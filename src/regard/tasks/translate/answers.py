"""From the hypotheses of a search to the `Translation` of a source. It searches nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from regard.engine.constraints import TextConstraints
from regard.search.hypothesis import Hypothesis
from regard.search.options import SearchOptions
from regard.tasks.translate.once import Once
from regard.tasks.translate.translation import Links, Source, Translation
from regard.text.tokenizer import Tokenizer


def ranked_translation(
    target: Tokenizer,
    number: int,
    source: Source,
    hypotheses: Sequence[Hypothesis],
    utilities: Sequence[float] | None,
    options: SearchOptions,
    constraints: TextConstraints,
    links: "LinksOfCall",
) -> Translation:
    """The translation of a source: the best of its hypotheses, and with `nbest` all of them. number: of the source in the call."""
    pieces, decode = target.vocabulary.pieces, target.decode
    ranked = [
        Translation(
            source=source.text,
            text=decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=[pieces[token] for token in hypothesis.tokens],
            logprob=hypothesis.logprob,
            finished=hypothesis.finished,
            truncated=source.truncated,
            unmet=constraints.unmet(number, hypothesis.tokens) if constraints else (),
            utility=None if utilities is None else utilities[rank],
            proof=hypothesis.proof,
            timed_out=hypothesis.timed_out,
            links=partial(links.of, number, rank),
        )
        for rank, hypothesis in enumerate(hypotheses)
    ]
    return ranked[0] if options.nbest == 1 else replace(ranked[0], alternatives=tuple(ranked))


class LinksOfCall:
    """The links of all hypotheses of a call, computed at the first access to one of them."""

    def __init__(
        self,
        compute: Callable[[Sequence[list[int]], Sequence[Sequence[Hypothesis]]], list[list[Links]]],
        sources: Sequence[list[int]],
        hypotheses: Sequence[Sequence[Hypothesis]],
    ) -> None:
        self._all = Once(partial(compute, sources, hypotheses))

    def of(self, text: int, rank: int) -> Links:
        """The links of one hypothesis."""
        return self._all()[text][rank]

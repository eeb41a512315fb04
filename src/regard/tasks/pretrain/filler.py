"""`Filler`: texts with gaps in, filled texts out. It joins a tokenizer and a pretrained network.

What a gap is, `gaps.py` says. A masked model says for each gap which pieces are probable; an encoder-decoder writes, by beam search. A
model of prefixes needs no gaps: it continues the text.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from regard.activity import activity
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.data.objectives import PrefixObjective, SpanObjective
from regard.engine.batching import length_batches, padded
from regard.engine.input_length import MAX_TOKENS, most_characters
from regard.engine.resident import Resident
from regard.errors import DataError
from regard.models.network import Learner
from regard.search.checks import check_count
from regard.search.options import SearchOptions
from regard.tasks.checks import check_texts
from regard.tasks.explainable import Explainable
from regard.tasks.pretrain.filling import Candidate, Filling
from regard.tasks.pretrain.gaps import Gaps, spans_of
from regard.tasks.pretrain.settings import PretrainBundle
from regard.tasks.translate.translation import Source
from regard.tasks.translate.translator import Translator
from regard.text.build import TokenizerPair
from regard.text.reserved_text import encode_reserved


def filler_of(
    network: Learner, tokenizers: TokenizerPair, config: PretrainBundle, bundle: OpenBundle | None = None
) -> "Filler":
    """The filler for a network and its objective."""
    return (MaskFiller if config.objective.in_place else Restorer)(network, tokenizers, config, bundle)


class Filler(Explainable[Learner], ABC):
    """The base of `MaskFiller` and `Restorer`."""

    def __init__(
        self, network: Learner, tokenizers: TokenizerPair, config: PretrainBundle, bundle: OpenBundle | None = None
    ) -> None:
        self._resident = Resident(network)
        self.tokenizers, self.config, self.bundle = tokenizers, config, bundle
        self.tokenizer = tokenizers.source
        self.gaps = Gaps(config.objective, self.tokenizer.vocabulary.reserved)
        self.max_tokens = MAX_TOKENS if config.reach is None else min(MAX_TOKENS, config.reach - 1)

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> Learner:
        """The network."""
        return self._resident.network

    def evaluating(self, *, gradients: bool = False) -> AbstractContextManager[Learner]:
        """The network, locked for this thread in evaluation mode; by default without gradients."""
        return self._resident.evaluating(gradients=gradients)

    @abstractmethod
    def fill(self, texts: Sequence[str], *, nbest: int = 1, beam: int = 5, batch_tokens: int = 4096) -> list[Filling]:
        """Each text with its gaps filled. nbest: candidates for each gap, or texts. beam: hypotheses of an encoder-decoder."""

    def read(self, texts: Sequence[str]) -> list[Source]:
        """The tokenized texts, where names of reserved pieces are gaps. A gap that the model does not have is a `DataError`."""
        check_texts(texts)
        for number, text in enumerate(texts):
            if complaint := self.complaint(text):
                raise DataError(f"texts[{number}]: {complaint}")
        most = most_characters(self.max_tokens)
        rows = [encode_reserved(self.tokenizer, self.gaps.named(text[:most])) for text in texts]
        return [
            Source(text, ids[: self.max_tokens], len(ids) > self.max_tokens or len(text) > most)
            for text, ids in zip(texts, rows, strict=True)
        ]

    def complaint(self, text: str) -> str | None:
        """Why the gaps of a text cannot be filled, and the fix; None: they can be."""
        return self.gaps.complaint(text[: most_characters(self.max_tokens)])


class MaskFiller(Filler):
    """A masked language model: the probabilities of the pieces of each gap."""

    def fill(self, texts: Sequence[str], *, nbest: int = 1, beam: int = 5, batch_tokens: int = 4096) -> list[Filling]:
        check_count("nbest", nbest)
        check_count("beam", beam)
        sources, vocabulary = self.read(texts), self.tokenizer.vocabulary
        mask = vocabulary.reserved.mask
        assert mask is not None, "checked when it is loaded"
        some = min(nbest, len(vocabulary) - len(vocabulary.special))
        results: dict[int, Filling] = {}
        with activity("filling", len(sources), "texts") as progress:
            for batch in length_batches([len(source.ids) for source in sources], batch_tokens):
                rows = [[*sources[number].ids, vocabulary.EOS] for number in batch]
                with self._resident.evaluating() as network:
                    tokens = padded(rows, vocabulary.pad, self._resident.device)
                    gaps = torch.eq(tokens, mask)
                    logits = network.project(network.hidden(tokens, tokens[:, :0])[gaps])
                    logits[:, [index for index in vocabulary.special if index < logits.shape[1]]] = -torch.inf
                    best = logits.softmax(dim=-1).topk(some, dim=-1)
                    found = list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
                for number, gap_count in zip(batch, gaps.sum(dim=1).tolist(), strict=True):
                    own, found = found[:gap_count], found[gap_count:]
                    results[number] = self._filling(sources[number], own)
                progress.advance(len(batch))
        return [results[number] for number in range(len(sources))]

    def _filling(self, source: Source, found: Sequence[tuple[list[int], list[float]]]) -> Filling:
        """found: of each gap the best pieces, and their probabilities."""
        vocabulary, best = self.tokenizer.vocabulary, iter(found)
        ids = [next(best)[0][0] if index == vocabulary.reserved.mask else index for index in source.ids]
        gaps = tuple(
            tuple(
                Candidate(self.tokenizer.decode([piece]), vocabulary.piece(piece), probability)
                for piece, probability in zip(pieces, probabilities, strict=True)
            )
            for pieces, probabilities in found
        )
        return Filling(source.text, self.tokenizer.decode(ids), gaps, truncated=source.truncated)


class Restorer(Filler):
    """An encoder-decoder that writes the text, or what is missing in it, by beam search."""

    def __init__(
        self, network: Learner, tokenizers: TokenizerPair, config: PretrainBundle, bundle: OpenBundle | None = None
    ) -> None:
        super().__init__(network, tokenizers, config, bundle)
        searched: Any = self._resident
        self._translator = Translator(searched, tokenizers, reach=config.reach, max_tokens=self.max_tokens)

    def fill(self, texts: Sequence[str], *, nbest: int = 1, beam: int = 5, batch_tokens: int = 4096) -> list[Filling]:
        check_count("nbest", nbest)
        check_count("beam", beam)
        options = SearchOptions(beam=max(beam, nbest), nbest=nbest)
        sources = self.read(texts)
        written = self._translator.search_read(sources, options, batch_tokens=batch_tokens)
        results = []
        for source, best in zip(sources, written, strict=True):
            made = [self._restored(source.ids, hypothesis.tokens) for hypothesis in best.alternatives or (best,)]
            alternatives = tuple(made) if nbest > 1 else ()
            results.append(Filling(source.text, made[0], alternatives=alternatives, truncated=source.truncated))
        return results

    def _restored(self, source: Sequence[int], pieces: Sequence[str]) -> str:
        """The text of a hypothesis; of span corruption, the source with what is said of each gap; of a prefix, the source before it."""
        written = self.tokenizer.vocabulary.ids_of(pieces)
        if isinstance(self.config.objective, SpanObjective):
            spans = spans_of(written, self.tokenizer.vocabulary.reserved.sentinels)
            return self.tokenizer.decode([index for one in source for index in spans.get(one, [one])])
        begun = source if isinstance(self.config.objective, PrefixObjective) else ()
        return self.tokenizer.decode([*begun, *written])

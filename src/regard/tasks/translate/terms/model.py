"""`TermModel`: a translator and the options of one call, as terms use them: searches, wider ones with phrases, and links."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.engine.constraints import ConstraintWarning, TextPhrase
from regard.engine.input_length import TruncationWarning
from regard.extras import is_installed
from regard.search.interruption import StopSignal
from regard.search.options import SearchOptions
from regard.tasks.translate.terms.draft import Draft
from regard.tasks.translate.translation import Links, Source, Translation
from regard.tasks.translate.translator import Translator

BANKS_OF_A_TOKEN = 2
"""Hypotheses of a constrained beam for each token that it must say, at least."""
WIDEST = 40
"""The widest beam that is chosen for constraints; a wider one of the user stays."""


@dataclass(frozen=True)
class TermModel:
    """A translator, and how it searches."""

    translator: Translator
    options: SearchOptions
    batch_tokens: int | None = None
    scores: bool = True
    stopped: StopSignal | None = None

    def read(self, texts: Sequence[str]) -> list[Source]:
        """The texts, tokenized."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)  # told of the whole source
            return self.translator.read(texts)

    @property
    def constrains(self) -> bool:
        """Whether phrases can be asked for: in a beam search of torch."""
        return self.options.kind == "beam" and is_installed("torch")

    def constrained(
        self,
        sources: Sequence[Source],
        prefixes: Sequence[str],
        phrases: Sequence[Sequence[TextPhrase]],
    ) -> list[Translation]:
        """The translations with phrases, by beams of a width that is each sentence's own, so that none depends on the others."""
        widths = [self._width(own) for own in phrases]
        found: dict[int, Translation] = {}
        for width in sorted(set(widths)):
            places = [place for place, own in enumerate(widths) if own == width]
            options = replace(self.options, nbest=1, beam=width, shortlist=False)
            rows = self.search(
                [sources[place] for place in places],
                [prefixes[place] for place in places],
                [phrases[place] for place in places],
                options,
            )
            found.update(zip(places, rows, strict=True))
        return [found[place] for place in range(len(sources))]

    def _width(self, phrases: Sequence[TextPhrase]) -> int:
        """The hypotheses of a beam that must say these phrases."""
        encode = self.translator.tokenizers.target.encode
        tokens = sum(
            min(len(encode(text)) for text in ([phrase] if isinstance(phrase, str) else phrase)) for phrase in phrases
        )
        return max(self.options.beam, min(WIDEST, BANKS_OF_A_TOKEN * (tokens + 1)))

    def search(
        self,
        sources: Sequence[Source],
        prefixes: Sequence[str] | None,
        phrases: Sequence[Sequence[TextPhrase]] | None,
        options: SearchOptions | None = None,
    ) -> list[Translation]:
        """The translations; without `options` by those of the call."""
        with warnings.catch_warnings():
            if options is not None:  # a repair; what it cannot do is told in `terms`
                warnings.simplefilter("ignore", ConstraintWarning)
            return self.translator.search_read(
                sources,
                options or self.options,
                prefixes=prefixes,
                phrases=phrases,
                batch_tokens=self.batch_tokens,
                scores=self.scores,
                stopped=self.stopped,
            )

    def links(self, drafts: Sequence[Draft]) -> list[Links]:
        """The links between the words of each source and of its draft; none where words cannot be aligned."""
        rest = [draft for draft in drafts if draft.links is None]
        if not (rest and self.translator.can_align):
            return [draft.links or [] for draft in drafts]
        texts = [draft.readable for draft in rest]
        alignments = iter(self.translator.align([draft.source.text for draft in rest], texts))
        return [next(alignments).links if draft.links is None else draft.links for draft in drafts]

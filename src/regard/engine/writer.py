"""A language model as its users see it: text in, more text out, and how probable a given text is. It joins a tokenizer and a network.

Lengths. A Transformer reads contexts of the length it was trained with. Of a longer prompt it reads the end, the answer says so
(`truncated`), and when what it writes fills a context it goes on behind the younger half of it; the other networks have no such limit.
A text that is longer than a context is scored in windows that overlap by half, so that every token but the first ones is scored behind
at least half a context.

Shapes: B sentences, N tokens, T tokens of a window, D width.
"""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.bundle.config import TextsConfig
from regard.bundle.opened import OpenBundle
from regard.engine.batching import padded
from regard.engine.demands import Demands, suppressed_ids
from regard.engine.options import SearchOptions
from regard.engine.prompt import Prompted
from regard.engine.risk import by_utility, expected_utilities
from regard.engine.runner import Mode, evaluating, run_search
from regard.engine.translation import Score, TruncationWarning
from regard.errors import SearchError
from regard.metrics.pairwise import chrf_matrix
from regard.search.expansion import Expansion, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.options import NODE_LIMIT, Stop
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import Stepper
from regard.text.lines import decode_lines, encode_lines
from regard.text.tokenizer import Tokenizer

USUAL_LENGTH = 200  # tokens of an output, where nothing else is asked
WINDOWS_TOKENS = 8192  # read at once, when scoring


class LanguageNetwork(Stepper[Any], Mode, Protocol):
    """A network that goes on with what was said."""

    context: int | None

    def hidden(self, source: Tensor, target_in: Tensor) -> Tensor:
        """(source [B, 0], target_in [B, T]) -> [B, T, D]"""
        ...

    def likelihoods(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """(hidden [N, D], targets [N]) -> log p [N]"""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All weights and tables."""
        ...


@dataclass(frozen=True)
class Generation:
    """What a model wrote behind a prompt."""

    prompt: str
    """As it was given."""
    text: str
    """What comes behind it."""
    tokens: list[str]
    """The pieces of the text."""
    logprob: float
    """log p(text | prompt), the end mark included if finished."""
    score: float
    """What several texts are ranked by."""
    finished: bool
    """Whether the model ended it; False: it was cut at the longest length allowed."""
    alternatives: tuple["Generation", ...] = ()
    """All that were asked for, this one the first."""
    truncated: bool = False
    """Whether the prompt was longer than the model reads, and only its end was read."""


class Writer:
    """A network with its tokenizer. Made by `load`, or around a network that is being trained."""

    def __init__(
        self, network: LanguageNetwork, tokenizer: Tokenizer, texts: TextsConfig, bundle: OpenBundle | None = None
    ) -> None:
        self.network, self.tokenizer, self.texts, self.bundle = network, tokenizer, texts, bundle
        self._turn = threading.RLock()  # a network is used by one thread at a time

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = next(iter(self.network.state_dict().values())).device
        return device

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sample: bool = True,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        nbest: int = 1,
        beam: int = 1,
        alpha: float = 1.0,
        length_form: LengthForm = "power",
        stop: Stop = "likely",
        groups: int = 1,
        diversity: float = 0.5,
        mbr: int = 0,
        exact: bool = False,
        node_limit: int = NODE_LIMIT,
        min_length: int = 0,
        max_length: int | None = None,
        no_repeat: int = 0,
        suppress: Sequence[str] = (),
    ) -> list[Generation]:
        """What the model writes behind each prompt, which may be empty.

        The options are those of `SearchOptions`; without `sample` the most probable text is searched for. `nbest` texts are written for
        each prompt, and are the `alternatives` of the first.
        """
        options = SearchOptions(
            sample=sample and not (mbr or exact),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            nbest=nbest,
            beam=max(beam, 1 if sample or mbr else nbest),
            alpha=alpha,
            length_form=length_form,
            stop=stop,
            groups=groups,
            diversity=diversity,
            mbr=mbr,
            exact=exact,
            node_limit=node_limit,
            min_length=min_length,
            max_length=max_length,
            no_repeat=no_repeat,
            suppress=suppress,
        )
        return self.write(prompts, options)

    def write(self, prompts: Sequence[str], options: SearchOptions) -> list[Generation]:
        """`generate`, with the options in one piece."""
        if isinstance(prompts, str):
            raise TypeError(f"expected a list of prompts, not one: write [{prompts[:20]!r}]")
        told = [encode_lines(self.tokenizer, prompt) for prompt in prompts]
        found: dict[int, list[Hypothesis]] = {}
        for _, some in groupby(sorted(range(len(told)), key=lambda n: len(told[n])), key=lambda n: len(told[n])):
            numbers = list(some)
            found |= zip(numbers, self._search([told[n] for n in numbers], numbers, options), strict=True)
        return [self._generation(prompt, told[n], found[n], options) for n, prompt in enumerate(prompts)]

    def stream(self, prompt: str, options: SearchOptions, tell: Callable[[str], None]) -> Generation:
        """One text behind one prompt, drawn or greedy, told piece by piece as it is written; what is told is `text`."""
        if options.nbest > 1 or options.mbr or options.exact or (not options.sample and options.beam > 1):
            raise SearchError("only one text that is drawn, or searched for greedily, can be told while it is written")
        told = encode_lines(self.tokenizer, prompt)
        telling = Telling(self, told, _limit(options), tell)
        [found] = self._search([told], [0], options, telling.watch)
        result = self._generation(prompt, told, found, options)
        telling.finish(result.text)
        return result

    def score(self, texts: Sequence[str], *, alpha: float = 0.0) -> list[Score]:
        """How probable each text is by itself: the chain rule, one factor a token."""
        if isinstance(texts, str):
            raise TypeError(f"expected a list of texts, not one text: write [{texts[:20]!r}]")
        rows = [self.encode(text) for text in texts]
        end = self.network.end_token
        ranking = Ranking(alpha)
        results = []
        for logprobs, ids in zip(self.logprobs([np.array(ids, dtype=np.int64) for ids in rows]), rows, strict=True):
            tokens = len(ids) - (ids[-1:] == [end])
            total = float(logprobs.sum())
            results.append(Score(total, ranking.score(total, tokens), tokens, logprobs.tolist()))
        return results

    def encode(self, text: str) -> list[int]:
        """A whole text as the model was trained on: a line with its end mark, or lines as they are."""
        if self.texts.documents == "line":
            return [*self.tokenizer.encode(text), self.network.end_token]
        return encode_lines(self.tokenizer, text)

    def text(self, ids: Sequence[int]) -> str:
        """What ids read as."""
        return decode_lines(self.tokenizer, ids)

    def continued(self, before: Sequence[int], ids: Sequence[int]) -> str:
        """What `ids` add to the text of the ids before them."""
        start, whole = self.text(before), self.text([*before, *ids])
        return whole.removeprefix(start)

    def logprobs(self, documents: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
        """log p of every token of every document, behind the start token."""
        found = [np.zeros(len(ids)) for ids in documents]
        for batch in _batches(_windows(documents, self.texts.context)):
            with self._turn, evaluating(self.network):
                rows = [documents[one.document][one.start : one.end].tolist() for one in batch]
                device, start = self.device, self.network.start_token
                fed = padded([[start, *row[:-1]] for row in rows], start, device)
                hidden = self.network.hidden(fed[:, :0], fed)
                real = torch.cat([hidden[n, one.told - one.start : one.end - one.start] for n, one in enumerate(batch)])
                wanted = [token for one, row in zip(batch, rows, strict=True) for token in row[one.told - one.start :]]
                values = self.network.likelihoods(real, torch.tensor(wanted, device=device)).double().cpu().numpy()
            if np.isnan(values).any():
                raise SearchError(
                    "the model's logits are not numbers (NaN): its weights are damaged or its training diverged"
                )
            parts = np.split(values, np.cumsum([one.end - one.told for one in batch])[:-1])
            for one, part in zip(batch, parts, strict=True):
                found[one.document][one.told : one.end] = part
        return found

    def _search(
        self,
        prompts: Sequence[Sequence[int]],
        numbers: Sequence[int],
        options: SearchOptions,
        watch: Watcher | None = None,
    ) -> list[list[Hypothesis]]:
        """For prompts of one length."""
        if options.coverage:
            raise SearchError(f"coverage = {options.coverage:g}: a language model has no source to cover; leave it out")
        longest = _limit(options)
        if options.min_length > longest:
            raise SearchError(f"min_length = {options.min_length}: above max_length = {longest}")
        demands = Demands(suppressed=suppressed_ids(self.tokenizer.vocabulary, options.suppress))
        with self._turn, evaluating(self.network):
            fed = torch.tensor([[self.network.start_token, *prompt] for prompt in prompts], device=self.device)
            stepper = Prompted(self.network, fed)
            lengths = [0] * len(prompts)
            limits = [longest] * len(prompts)
            found = run_search(stepper, fed[:, :0], limits, numbers, options, demands, watch, source_lengths=lengths)
        return [self._least_risk(some, options.nbest) for some in found] if options.mbr else found

    def _least_risk(self, drawn: Sequence[Hypothesis], nbest: int) -> list[Hypothesis]:
        texts = [self.text(one.tokens) for one in drawn]
        return [drawn[place] for place in by_utility(expected_utilities(texts, chrf_matrix), texts)[:nbest]]

    def _generation(
        self, prompt: str, told: Sequence[int], found: Sequence[Hypothesis], options: SearchOptions
    ) -> Generation:
        context = self.network.context
        cut = context is not None and len(told) + 1 > context
        if cut:
            warnings.warn(
                f"a prompt of {len(told)} tokens is longer than the context, {context}; only its end was read",
                TruncationWarning,
                stacklevel=4,
            )
        pieces = self.tokenizer.vocabulary.pieces
        ranked = tuple(
            Generation(
                prompt=prompt,
                text=self.continued(told, one.tokens),
                tokens=[pieces[index] for index in one.tokens],
                logprob=one.logprob,
                score=one.score,
                finished=one.finished,
                truncated=cut,
            )
            for one in found
        )
        return replace(ranked[0], alternatives=ranked if options.nbest > 1 else ())


def _limit(options: SearchOptions) -> int:
    return max(USUAL_LENGTH, options.min_length) if options.max_length is None else options.max_length


class Telling:
    """Tells a text while its tokens are chosen. A character whose bytes are not all there waits for them."""

    def __init__(self, writer: Writer, told: Sequence[int], limit: int, tell: Callable[[str], None]) -> None:
        self._writer, self._before, self._tell, self._limit = writer, list(told), tell, limit
        self._said: list[int] = []
        self._told = ""

    def watch(self, step: Expansion) -> None:
        if len(self._said) == self._limit or step.finished.any() or not step.going.shape[1]:
            return
        self._said.append(int(step.tokens[0, step.going[0, 0]]))
        self.finish(self._writer.continued(self._before, self._said).rstrip("\ufffd"))

    def finish(self, text: str) -> None:
        """Tell what is new in the text."""
        if len(text) > len(self._told) and text.startswith(self._told):
            self._tell(text[len(self._told) :])
            self._told = text


@dataclass(frozen=True, slots=True)
class _Window:
    """Tokens start .. end of a document, of which those from `told` on are scored."""

    document: int
    start: int
    told: int
    end: int


def _windows(documents: Sequence[NDArray[Any]], size: int) -> Iterator[_Window]:
    """All tokens of all documents, each scored once."""
    for number, ids in enumerate(documents):
        if not len(ids):
            continue
        yield _Window(number, 0, 0, min(size, len(ids)))
        stride = max(1, size // 2)
        for told in range(size, len(ids), stride):
            end = min(told + stride, len(ids))
            yield _Window(number, end - size, told, end)


def _batches(windows: Iterator[_Window]) -> Iterator[list[_Window]]:
    """As many in a row as fit, padded to the longest."""
    batch: list[_Window] = []
    width = 0
    for window in windows:
        width = max(width, window.end - window.start)
        if batch and (len(batch) + 1) * width > WINDOWS_TOKENS:
            yield batch
            batch, width = [], window.end - window.start
        batch.append(window)
    if batch:
        yield batch

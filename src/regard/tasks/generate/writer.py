"""`Writer`: a language model with its tokenizer. It continues prompts and scores texts.

Lengths. A Transformer has the context length that it was trained with; the other networks have no limit. It reads only the end of a longer
prompt, and the result says so (`truncated`). When the output fills the context, generation continues from its second half. A text longer
than a context is scored in windows that overlap by half, so that every token but the first ones has at least half a context.

Shapes: B sentences, N tokens, T tokens of a window, D width.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeAlias, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.activity import activity
from regard.bundle.config import TextsConfig
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.engine.batching import padded
from regard.engine.constraints import suppressed_ids
from regard.engine.forced import ForcedScore
from regard.engine.input_length import MAX_CHARACTERS, TruncationWarning, most_characters
from regard.engine.prefill import PrefilledStepper
from regard.engine.resident import Resident
from regard.engine.risk import least_risk
from regard.errors import SearchError
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import NOT_BEGUN, Interruption, StopSignal
from regard.search.options import SearchKeywords, SearchOptions, lists_options
from regard.search.ranking import Ranking
from regard.search.run import goes_token_by_token, run_search, search_steps
from regard.tasks.checks import check_text, check_texts
from regard.tasks.explainable import Explainable
from regard.tasks.generate.generation import Generation
from regard.tasks.generate.network import LanguageNetwork
from regard.tasks.generate.text_stream import TextStream
from regard.tasks.generate.token_logprobs import (
    LogitKeeper,
    LogitWatcher,
    TokenLogprob,
    read_logprobs,
    watched,
    with_logprobs,
)
from regard.tasks.generate.windows import Window, window_batches, windows
from regard.tasks.generate.writing_options import writing_options
from regard.text.lines import decode_lines, encode_lines
from regard.text.tokenizer import Tokenizer

USUAL_LENGTH = 200  # tokens of an output, the default
MOST_PROMPT = MAX_CHARACTERS  # for a network without a context length


class PromptLengthError(SearchError):
    """A prompt that is longer than the network reads."""


GenerationStream: TypeAlias = TextStream[Generation]


class Writer(Explainable[LanguageNetwork]):
    """A language model. Made by `regard.load`, or around a network that is being trained."""

    def __init__(
        self, network: LanguageNetwork, tokenizer: Tokenizer, texts: TextsConfig, bundle: OpenBundle | None = None
    ) -> None:
        self._resident = Resident(network)
        self.tokenizer, self.texts, self.bundle = tokenizer, texts, bundle

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> LanguageNetwork:
        """The network."""
        return self._resident.network

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._resident.device

    @lists_options
    def generate(
        self, prompts: Sequence[str], *, stopped: StopSignal | None = None, **options: Unpack[SearchKeywords]
    ) -> list[Generation]:
        """A continuation of each prompt. A prompt may be empty.

        The options are those of `SearchOptions`. By default the text is drawn (`sample=True`); `beam`, or `sample=False`, searches for
        the most probable text. With `nbest`, the first has the others as `alternatives`. stopped: a function, such as the `is_set` of
        an event, that is called between the steps of the search; if it returns True, `SearchStopped` is raised.
        """
        return self.write(prompts, writing_options(options), stopped)

    def write(
        self, prompts: Sequence[str], options: SearchOptions, stopped: StopSignal | None = None
    ) -> list[Generation]:
        """`generate`, with a `SearchOptions` object."""
        check_texts(prompts, "prompts")
        rows = [self._prompt_ids(prompt) for prompt in prompts]
        hypotheses: dict[int, list[Hypothesis]] = {}
        interruption = Interruption.of(options.time_limit, stopped)
        by_length = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        with activity("generating", len(rows), "texts") as progress:
            for _, group in groupby(by_length, key=lambda number: len(rows[number])):
                numbers = list(group)
                searched = [[NOT_BEGUN] for _ in numbers]
                if interruption is None or not interruption.due():
                    searched = self._search([rows[number] for number in numbers], numbers, options, interruption)
                hypotheses |= zip(numbers, searched, strict=True)
                progress.advance(len(numbers))
        return [
            self._generation(prompt, rows[number], hypotheses[number], options) for number, prompt in enumerate(prompts)
        ]

    def stream(self, prompt: str, options: SearchOptions, stopped: StopSignal | None = None) -> GenerationStream:
        """Stream the continuation of one prompt, sampled or greedy. The pieces joined are `result.text`."""
        check_text(prompt, "prompt")
        return self._stream(prompt, self._prompt_ids(prompt), options, stopped)

    def stream_ids(
        self,
        ids: Sequence[int],
        options: SearchOptions,
        stopped: StopSignal | None = None,
        *,
        logprobs: int | None = None,
        see: LogitWatcher | None = None,
    ) -> GenerationStream:
        """`stream`, for a prompt in tokens. logprobs: so many of the most probable tokens at each place; None: none are recorded.

        see: looks at every step.
        """
        return self._stream(self.text(ids), ids, options, stopped, logprobs, see)

    def _stream(
        self,
        prompt: str,
        ids: Sequence[int],
        options: SearchOptions,
        stopped: StopSignal | None,
        most: int | None = None,
        see: LogitWatcher | None = None,
    ) -> GenerationStream:
        if options.nbest > 1 or options.mbr or not goes_token_by_token(options):
            raise SearchError("only one text that is drawn, or searched for greedily, can be told while it is written")
        limit, constraints = self._limits(options)
        fed = self._fed([ids])
        keeper = LogitKeeper(PrefilledStepper(self.network, fed))
        logprobs: list[TokenLogprob] = []
        steps = search_steps(
            keeper,
            fed[:, :0],
            options,
            limits=[limit],
            numbers=[0],
            constraints=constraints,
            interruption=Interruption.of(options.time_limit, stopped),
        )
        if most is not None:
            steps = with_logprobs(steps, keeper, limit, most, logprobs)
        if see is not None:
            steps = watched(steps, keeper, limit, see)

        def finish(hypotheses: Sequence[Hypothesis]) -> tuple[str, Generation]:
            generation = self._generation(prompt, ids, hypotheses, options)
            return generation.text, generation

        return TextStream(self._resident, steps, limit, lambda tokens: self.continued(ids, tokens), finish, logprobs)

    def read_logprobs(self, ids: Sequence[int], most: int) -> list[TokenLogprob]:
        """The log-probability of each token of a prompt of at most a context, and of the `most` most probable tokens at its place."""
        with self._resident.evaluating() as network:
            return read_logprobs(network, list(ids), self.device, most)

    def prompt_ids(self, prompt: str) -> list[int]:
        """The ids of a prompt. One that the network cannot read as a whole is a `PromptLengthError`."""
        check_text(prompt, "prompt")
        if len(prompt) > self._most_prompt:
            raise PromptLengthError(
                f"the prompt has {len(prompt):,} characters, and this model reads {self._most_prompt:,}"
            )
        ids = self._prompt_ids(prompt)
        self.check_prompt(ids)
        return ids

    def check_prompt(self, ids: Sequence[int]) -> None:
        """Refuse tokens that the model does not have, and more of them than its context."""
        context, outputs = self.network.context, self.tokenizer.vocabulary.pad
        if context is not None and len(ids) + 1 > context:
            raise PromptLengthError(
                f"the prompt has {len(ids):,} tokens, and this model's context length is {context:,}"
            )
        for token in ids:
            if not 0 <= token < outputs:
                raise SearchError(f"token {token}: this model has the tokens 0 to {outputs - 1}")

    def score(self, texts: Sequence[str], *, alpha: float = 0.0) -> list[ForcedScore]:
        """The log-probability of each text, by the chain rule, with those of its tokens."""
        check_texts(texts)
        rows = [self.encode(text) for text in texts]
        end = self.network.end_token
        ranking = Ranking(alpha)
        results = []
        for logprobs, ids in zip(self.logprobs([np.array(ids, dtype=np.int64) for ids in rows]), rows, strict=True):
            tokens = len(ids) - (ids[-1:] == [end])
            total = float(logprobs.sum())
            results.append(ForcedScore(total, ranking.score(total, tokens), tokens, logprobs.tolist()))
        return results

    def encode(self, text: str) -> list[int]:
        """The ids of a text, as in training: an end mark is added if each line is a document."""
        if self.texts.documents == "line":
            return [*self.tokenizer.encode(text), self.network.end_token]
        return encode_lines(self.tokenizer, text)

    def text(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return decode_lines(self.tokenizer, ids)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that have tokens which the training text lacks, where the network knows them."""
        unseen, unknown = frozenset(self.network.unseen_tokens()), dict[str, None]()
        for line in text[-self._most_prompt :].split("\n") if unseen else ():
            ids = self.tokenizer.encode(line)
            words = self.tokenizer.decode(ids).split(" ")
            places = zip(ids, self.tokenizer.words(ids), strict=True)
            unknown |= {words[word]: None for token, word in places if token in unseen}
        return list(unknown)

    def continued(self, before: Sequence[int], ids: Sequence[int]) -> str:
        """The text that `ids` add to the text of the ids before them."""
        start, whole = self.text(before), self.text([*before, *ids])
        return whole.removeprefix(start)

    def logprobs(self, documents: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
        """log p of every token of every document, given the tokens before it."""
        results = [np.zeros(len(ids)) for ids in documents]
        with activity("scoring", sum(map(len, documents)), "tokens") as progress:
            for batch in window_batches(windows(documents, self.texts.context)):
                for window, part in zip(batch, self._window_logprobs(documents, batch), strict=True):
                    results[window.document][window.first : window.end] = part
                    progress.advance(len(part))
        return results

    def _window_logprobs(self, documents: Sequence[NDArray[Any]], batch: Sequence[Window]) -> list[NDArray[np.float64]]:
        """log p of the scored tokens of each window of a batch."""
        rows = [documents[window.document][window.start : window.end].tolist() for window in batch]
        wanted = [
            token for window, row in zip(batch, rows, strict=True) for token in row[window.first - window.start :]
        ]
        with self._resident.evaluating() as network:
            device, start = self.device, network.start_token
            fed = padded([[start, *row[:-1]] for row in rows], start, device)
            hidden = network.hidden(fed[:, :0], fed)
            real = torch.cat(
                [
                    hidden[row, window.first - window.start : window.end - window.start]
                    for row, window in enumerate(batch)
                ]
            )
            values = network.likelihoods(real, torch.tensor(wanted, device=device)).double().cpu().numpy()
        if np.isnan(values).any():
            raise SearchError(
                "the model's logits are not numbers (NaN): its weights are damaged or its training diverged"
            )
        return np.split(values, np.cumsum([window.end - window.first for window in batch])[:-1])

    def _search(
        self,
        prompts: Sequence[Sequence[int]],
        numbers: Sequence[int],
        options: SearchOptions,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses for prompts of the same length."""
        limit, constraints = self._limits(options)
        with self._resident.evaluating() as network:
            fed = self._fed(prompts)
            hypotheses = run_search(
                PrefilledStepper(network, fed),
                fed[:, :0],
                options,
                limits=[limit] * len(prompts),
                numbers=numbers,
                source_lengths=[0] * len(prompts),
                constraints=constraints,
                interruption=interruption,
            )
        return [least_risk(drawn, self.text, options.nbest)[0] for drawn in hypotheses] if options.mbr else hypotheses

    def _limits(self, options: SearchOptions) -> tuple[int, Constraints]:
        """The maximum output length and the tokens that are not written. Refuses options that a language model does not have."""
        if options.shortlist:
            raise SearchError("shortlist: a language model has no source that its pieces come from; leave it out")
        if options.coverage:
            raise SearchError(f"coverage = {options.coverage:g}: a language model has no source to cover; leave it out")
        longest = max(USUAL_LENGTH, options.min_length) if options.max_length is None else options.max_length
        if options.min_length > longest:
            raise SearchError(f"min_length = {options.min_length}: above max_length = {longest}")
        suppressed = suppressed_ids(self.tokenizer.vocabulary, options.suppress)
        return longest, Constraints(suppressed=(*suppressed, *self.network.unseen_tokens()))

    def _prompt_ids(self, prompt: str) -> list[int]:
        """The ids of a prompt, or of the end of a long one: past the context, or past `MOST_PROMPT`, nothing is read."""
        return encode_lines(self.tokenizer, prompt[-self._most_prompt :])

    @property
    def _most_prompt(self) -> int:
        """The characters of a prompt that are read."""
        return MOST_PROMPT if self.network.context is None else most_characters(self.network.context)

    def _fed(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """[B, 1 + tokens]: the start token and prompts of the same length."""
        return torch.tensor([[self.network.start_token, *prompt] for prompt in prompts], device=self.device)

    def _generation(
        self, prompt: str, ids: Sequence[int], hypotheses: Sequence[Hypothesis], options: SearchOptions
    ) -> Generation:
        context = self.network.context
        cut, size, most = (
            context is not None and len(ids) + 1 > context,
            f"{len(ids)} tokens",
            f"the context, {context}",
        )
        if len(prompt) > self._most_prompt:
            cut, size, most = True, f"{len(prompt)} characters", f"what is read of one, {self._most_prompt}"
        if cut:
            warnings.warn(
                f"a prompt of {size} is longer than {most}; only its end was read",
                TruncationWarning,
                stacklevel=4,
            )
        pieces = self.tokenizer.vocabulary.pieces
        ranked = tuple(
            Generation(
                prompt=prompt,
                text=self.continued(ids, hypothesis.tokens),
                tokens=[pieces[index] for index in hypothesis.tokens],
                logprob=hypothesis.logprob,
                score=hypothesis.score,
                finished=hypothesis.finished,
                truncated=cut,
                timed_out=hypothesis.timed_out,
                proof=hypothesis.proof,
            )
            for hypothesis in hypotheses
        )
        return replace(ranked[0], alternatives=ranked if options.nbest > 1 else ())

"""The choices of a completion: prompts continued one text at a time, with stop sequences, echo and log-probabilities. It knows no HTTP.

A piece of text is told when no stop sequence can begin in it any more. So the pieces of a stream joined are the text of a whole answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from regard.search.interruption import SearchStopped, StopSignal
from regard.search.options import SearchOptions
from regard.text.normalise import SPACE_MARK

if TYPE_CHECKING:
    from regard.tasks.generate.token_logprobs import TokenLogprob
    from regard.tasks.generate.writer import GenerationStream, Writer


@dataclass(frozen=True)
class Prompt:
    """A prompt in tokens."""

    text: str
    """As it was given; of a prompt in tokens, their text."""
    ids: Sequence[int]


@dataclass(frozen=True)
class Wanted:
    """The request for each choice."""

    max_tokens: int
    temperature: float
    top_p: float
    stop: tuple[str, ...] = ()
    echo: bool = False
    logprobs: int | None = None
    seed: int = 0

    def options(self, choice: int) -> SearchOptions:
        """The search of one choice. Without temperature it is greedy."""
        longest = max(1, self.max_tokens)
        if self.temperature == 0.0 or self.top_p == 0.0:
            return SearchOptions(beam=1, max_length=longest)
        return SearchOptions(
            sample=True,
            beam=1,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=(self.seed + choice) % 2**64,
            max_length=longest,
        )


@dataclass(frozen=True)
class Piece:
    """A part of the text of a choice."""

    index: int
    """The number of the choice, over all prompts."""
    text: str
    logprobs: dict[str, list[object]] | None = None
    """The tokens that begin in it, as OpenAI's API has them."""
    finish: Literal["stop", "length"] | None = None
    """Of the last piece: `stop` or `length`."""
    tokens: int = 0
    """Of the last piece: the tokens that were generated."""


@dataclass
class Tokens:
    """Tokens with their log-probabilities and places in the text, some of which have been told."""

    writer: "Writer"
    offset: int
    """Where the text of the choice begins."""
    told: int = 0
    places: list[int] = field(default_factory=list)
    """Where each token begins."""

    def until(
        self, end: int, before: Sequence[int], tokens: Sequence[int], logprobs: Sequence["TokenLogprob"]
    ) -> dict[str, list[object]]:
        """The tokens not told yet that begin before place `end` of the text."""
        while len(self.places) < len(tokens):
            self.places.append(self.offset + len(self.writer.continued(before, tokens[: len(self.places)])))
        first = self.told
        while self.told < len(tokens) and self.places[self.told] < end:
            self.told += 1
        return stated(self.writer, logprobs[first : self.told], self.places[first : self.told])


def choices(
    writer: "Writer", prompts: Sequence[Prompt], count: int, wanted: Wanted, stopped: StopSignal
) -> Iterator[Piece]:
    """The pieces of all choices, `count` of each prompt, one choice after the other."""
    for number, prompt in enumerate(prompts):
        if stopped():
            raise SearchStopped
        echoed = _echoed(writer, prompt, wanted.logprobs) if wanted.echo else None
        for choice in range(count):
            if stopped():
                raise SearchStopped
            index = number * count + choice
            if wanted.echo:
                yield Piece(index, prompt.text, echoed)
            yield from _continued(writer, prompt, index, wanted, wanted.options(choice), stopped)


def _continued(
    writer: "Writer", prompt: Prompt, index: int, wanted: Wanted, options: SearchOptions, stopped: StopSignal
) -> Iterator[Piece]:
    """The pieces of one choice, without its echo."""
    if not wanted.max_tokens:
        yield Piece(index, "", finish="length")
        return
    text, told = "", 0
    finish: Literal["stop", "length"] = "length"
    tokens = Tokens(writer, len(prompt.text) if wanted.echo else 0)

    def piece(end: int, finish: Literal["stop", "length"] | None = None) -> Piece:
        logprobs = None
        if wanted.logprobs is not None:
            until = tokens.offset + end + (finish is not None and end == len(text))  # the last tokens may have no text
            logprobs = tokens.until(until, prompt.ids, stream.tokens, stream.logprobs)
        return Piece(index, text[told:end], logprobs, finish, len(stream.tokens) if finish else 0)

    stream: GenerationStream
    with writer.stream_ids(prompt.ids, options, stopped, logprobs=wanted.logprobs) as stream:
        for part in stream:
            text += part
            cut = first_stop(text, wanted.stop)
            if cut is not None:
                text, finish = text[:cut], "stop"
                break
            safe = len(text) - held_back(text, wanted.stop)
            if safe > told:
                yield piece(safe)
                told = safe
        else:
            finish = "stop" if stream.result.finished else "length"
        yield piece(len(text), finish)


def first_stop(text: str, stops: Sequence[str]) -> int | None:
    """Where the first stop sequence begins; None: there is none."""
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)


def held_back(text: str, stops: Sequence[str]) -> int:
    """How many of the last characters may be the beginning of a stop sequence."""
    return max(
        (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])),
        default=0,
    )


def stated(writer: "Writer", logprobs: Sequence["TokenLogprob"], places: Sequence[int]) -> dict[str, list[object]]:
    """Tokens as OpenAI's API has them."""
    return {
        "tokens": [token_name(writer, one.token) for one in logprobs],
        "token_logprobs": [one.logprob for one in logprobs],
        "top_logprobs": [{token_name(writer, token): value for token, value in one.top} for one in logprobs],
        "text_offset": list(places),
    }


def token_name(writer: "Writer", token: int) -> str:
    """A token as text: with its space, a lone byte as `bytes:\\xe2`, and a mark by its name."""
    vocabulary = writer.tokenizer.vocabulary
    spelling = vocabulary.spelling(token).replace(SPACE_MARK, " ")
    if len(spelling) == 1 and "\udc80" <= spelling <= "\udcff":
        return f"bytes:\\x{ord(spelling) - 0xDC00:02x}"
    return spelling or vocabulary.piece(token)


def _echoed(writer: "Writer", prompt: Prompt, most: int | None) -> dict[str, list[object]] | None:
    """The tokens of a prompt. The first one has no probability, as in OpenAI's API."""
    if most is None:
        return None
    if not prompt.ids:
        return stated(writer, (), ())
    read = stated(
        writer,
        writer.read_logprobs(prompt.ids, most),
        [len(writer.text(prompt.ids[:place])) for place in range(len(prompt.ids))],
    )
    return {
        **read,
        "token_logprobs": [None, *read["token_logprobs"][1:]],
        "top_logprobs": [None, *read["top_logprobs"][1:]],
    }

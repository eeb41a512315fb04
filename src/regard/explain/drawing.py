"""Watches a language model draw a text: at every step the logits, what temperature makes of them, and what top-k and top-p cut away.

Shapes: V tokens.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.interruption import StopSignal
from regard.search.options import SearchOptions
from regard.search.sampling import filtered
from regard.tasks.generate.generation import Generation
from regard.tasks.generate.writer import Writer

CANDIDATES = 20  # tokens shown of each step
Cut = Literal["top-k", "top-p"]


@dataclass(frozen=True)
class Candidate:
    """One token that could come next."""

    token: str
    logit: float
    probability: float  # of the model
    tempered: float  # after the temperature
    drawn: float  # with which it is drawn: 0 if it is cut, and the kept ones sum to 1
    cut: Cut | None  # by what; None: it may be drawn


@dataclass(frozen=True)
class Drawing:
    """One step: the likeliest tokens, and the one that was drawn."""

    step: int  # from 1
    candidates: Sequence[Candidate]  # the likeliest first; the drawn one is among them
    drawn: int  # its place in them
    rank: int  # its place among all tokens, from 1
    left: int  # tokens that may be drawn
    all: int  # tokens that the model knows
    entropy: float  # of the model's distribution, in bits
    ends: bool  # the end mark was drawn
    text: str  # the text so far


def watch_drawing(
    writer: Writer,
    prompt: str,
    options: SearchOptions,
    told: Callable[[Drawing], None],
    stopped: StopSignal | None = None,
) -> Generation:
    """Draw a continuation of the prompt, and tell every step of it."""
    if not options.sample:
        raise SearchError("only a text that is drawn can be watched: give sample=True")
    ids, tokens, steps = writer.prompt_ids(prompt), list[int](), 0

    def see(logits: Tensor, token: int) -> None:
        nonlocal steps
        steps += 1
        if token != writer.network.end_token:
            tokens.append(token)
        possible = logits.clone()
        possible[list(writer.network.unseen_tokens())] = -torch.inf
        text = writer.continued(ids, tokens).rstrip("\ufffd")  # without a character whose bytes are not complete
        told(drawing(writer, steps, possible, token, text, options))

    with writer.stream_ids(ids, options, stopped, see=see) as stream:
        for _ in stream:
            pass
    return stream.result


def drawing(writer: Writer, step: int, logits: Tensor, token: int, text: str, options: SearchOptions) -> Drawing:
    """The record of one step. logits [V]; token: the drawn one."""
    allowed = _allowed(logits, options)  # [V]
    logits = logits.double()
    model = logits.softmax(dim=-1)
    tempered = (logits / options.temperature).softmax(dim=-1)
    drawn = torch.where(allowed > 0, tempered, 0.0)
    drawn /= drawn.sum()
    order = logits.argsort(descending=True, stable=True)
    shown = order[:CANDIDATES].tolist()
    if token not in shown:
        shown[-1] = token
    best_k = set(order[: options.top_k or None].tolist())

    def cut(place: int) -> Cut | None:
        if allowed[place] > 0:
            return None
        return "top-p" if place in best_k and options.top_p < 1.0 else "top-k"

    entropy = -sum(value * math.log2(value) for value in model.tolist() if value > 0.0)
    return Drawing(
        step=step,
        candidates=[
            Candidate(
                token=writer.tokenizer.vocabulary.piece(place),
                logit=float(logits[place]),
                probability=float(model[place]),
                tempered=float(tempered[place]),
                drawn=float(drawn[place]),
                cut=cut(place),
            )
            for place in shown
        ],
        drawn=shown.index(token),
        rank=int((order == token).nonzero()[0]) + 1,
        left=int((allowed > 0).sum()),
        all=int((logits > -torch.inf).sum()),
        entropy=entropy,
        ends=token == writer.network.end_token,
        text=text,
    )


def _allowed(logits: Tensor, options: SearchOptions) -> Tensor:
    """[V]: above 0 where a token may be drawn, by the very function that draws."""
    probabilities, ids = filtered(logits, temperature=options.temperature, top_k=options.top_k, top_p=options.top_p)
    return probabilities if ids is None else torch.zeros(len(logits)).to(probabilities).scatter(0, ids, probabilities)

"""What is known of one sentence and its translation, as typed records with arrays whose axes have names.

Nothing here knows a model or a page. The records are the schema of the JSON too: `docs/explain.md` says what each field means.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.explain.arrays import NamedArray
from regard.explain.records import AlignmentMap, SearchTree

AttentionName = Literal["encoder", "decoder", "cross"]
ATTENTIONS: tuple[AttentionName, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class ModelFacts:
    """Which model was looked into."""

    name: str
    kind: str  # transformer, recurrent; or the class of a network that came without a bundle
    score: str | None  # how attention compares; None: not known
    source_language: str | None
    target_language: str | None
    parameters: int


@dataclass(frozen=True)
class Side:
    """One side of the pair."""

    text: str  # normalised
    tokens: Sequence[str]  # the pieces, the end mark last
    words: Sequence[str]
    word_of: Sequence[int | None]  # of each token; None: the end mark


@dataclass(frozen=True)
class Computation:
    """One attention in full: what goes into every weight and what comes of it. The unit axis is a head's, but of joined and output."""

    layers: Sequence[int]  # which they are: a page of a long sentence has room for the last one only
    query: NamedArray  # [layer, head, query, unit]
    keys: NamedArray  # [layer, head, key, unit]
    values: NamedArray  # [layer, head, key, unit]
    scores: NamedArray  # [layer, head, query, key]
    masked: NamedArray  # [layer, head, query, key]; minus infinity: must not be looked at
    context: NamedArray  # [layer, head, query, unit]
    joined: NamedArray | None  # [layer, query, unit], the heads side by side; None: there is one head
    output: NamedArray | None  # [layer, query, unit], after W_O; None: there is none


@dataclass(frozen=True)
class Outputs:
    """The likeliest tokens at each step of the target, the end mark's step last, and what was said there."""

    tokens: Sequence[Sequence[str]]  # [target][rank]
    probabilities: NamedArray  # [target, rank]
    said: NamedArray  # [target]: the probability of the token that was said


@dataclass(frozen=True)
class Search:
    """What one search found."""

    name: str  # greedy, beam, exact
    text: str
    tokens: Sequence[str]
    logprob: float
    score: float  # normalised by length; that of an exact search is the log-probability
    finished: bool
    tree: SearchTree  # of an exact search the first of its nodes, and the way to the winner
    nodes: int | None = None  # of an exact search: how many partial outputs were continued
    proved: bool | None = None  # and whether nothing is more probable


@dataclass(frozen=True)
class Agreement:
    """How alike two methods rank the source words, the mean over the target words; None: no word had an order to compare."""

    one: str
    other: str
    kendall: float | None  # tau-b
    spearman: float | None


@dataclass(frozen=True)
class Attribution:
    """How much each source word bears on log p of each target token."""

    occlusion: NamedArray  # [target, source_word]: by how much log p falls with <unk> in the place of the word
    gradients: NamedArray  # [target, source_word]: integrated gradients, summed over the word's tokens
    gap: NamedArray  # [target]: what the gradients of a row lack of log p(y|x) - log p(y|every word unknown)
    agreement: Sequence[Agreement]


@dataclass(frozen=True)
class WhatIf:
    """The same sentence with something changed."""

    name: str  # what was changed
    source: str  # what was translated
    text: str  # the translation then
    logprob: float
    kept_logprob: float  # what the unchanged translation is worth then
    kept_token_logprobs: NamedArray  # [target], of the unchanged translation
    token_changes: NamedArray  # [target]: what each of them gained or lost
    alignment: AlignmentMap | None  # of the translation then


@dataclass(frozen=True)
class Neighbours:
    """The pieces whose embeddings point most nearly where that of each token does."""

    tokens: Sequence[Sequence[str]]  # [token][rank]
    cosines: NamedArray  # [token, rank]


@dataclass(frozen=True)
class States:
    """A stack from its input to its output: lengths of its states, and of the gradient of -log p(target) by them."""

    layers: Sequence[str]
    norms: NamedArray  # [layer, token]
    gradients: NamedArray  # [layer, token]


@dataclass(frozen=True)
class Structure:
    """How the network is made, as the sentence shows it."""

    positions: NamedArray | None  # [position, unit], what is added to embeddings; None: nothing is
    gram: NamedArray | None  # [position, other]: their dot products
    source: Neighbours | None
    target: Neighbours | None
    encoder: States
    decoder: States
    reach: NamedArray  # [state, word]: how much the encoder's state at one place changes with the embedding at another
    reach_by_distance: NamedArray  # [distance]: the mean over all places so far apart


@dataclass(frozen=True)
class Explanation:
    """All that was seen of one pair. A part that a model does not have, or that was not asked for, is absent."""

    model: ModelFacts
    source: Side
    target: Side
    given: bool  # whether the target was given rather than found
    logprob: float  # log p(target | source), the end mark included
    token_logprobs: NamedArray  # [target]
    attention: Mapping[AttentionName, NamedArray]  # [layer, head, query, key]
    outputs: Outputs
    computation: Mapping[AttentionName, Computation] = field(default_factory=dict)
    alignments: Mapping[str, AlignmentMap] = field(default_factory=dict)  # by method
    searches: Sequence[Search] = ()
    attribution: Attribution | None = None
    what_if: Sequence[WhatIf] = ()
    structure: Structure | None = None

    def _repr_html_(self) -> str:
        """The page, in a frame of its own: what a notebook shows."""
        from regard.explain.sentence_page import render_sentences

        page = html.escape(render_sentences([self]))
        return f'<iframe srcdoc="{page}" style="width:100%;height:42rem;border:0" title="explanation"></iframe>'

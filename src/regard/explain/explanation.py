"""The records of an explanation: one sentence, its translation, and arrays with named axes.

The field names are the schema of the JSON. `docs/explain.md` describes each field.
"""

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from regard.errors import shown
from regard.explain.arrays import NamedArray
from regard.explain.records import AlignmentMap, SearchTree

AttentionName = Literal["encoder", "decoder", "cross"]
ATTENTIONS: tuple[AttentionName, ...] = ("encoder", "decoder", "cross")
Part = Literal["computation", "mixing", "searches", "attribution", "structure"]
"""A costly part of an explanation, which is made on request."""
PARTS: tuple[Part, ...] = get_args(Part)
_PARTS = ("computation", "alignments", "mixing", "pooling", "searches", "attribution", "what_if", "structure")
_SHOWN = 80  # characters of a text in the one-line form


@dataclass(frozen=True)
class ModelFacts:
    """The explained model."""

    name: str
    kind: str  # transformer or recurrent; without a bundle, the class name of the network
    score: str | None  # the attention score function; None: unknown
    source_language: str | None
    target_language: str | None
    parameters: int


@dataclass(frozen=True)
class Side:
    """The source or the target."""

    text: str  # normalised
    tokens: Sequence[str]  # the pieces, the end mark last
    words: Sequence[str]
    word_of: Sequence[int | None]  # the word of each token; None: the end mark


@dataclass(frozen=True)
class Computation:
    """The inputs, scores and outputs of one attention. The unit axis is that of a head, except in joined and output."""

    layers: Sequence[int]  # layer numbers; the page of a long sentence holds only the last layer
    query: NamedArray  # [layer, head, query, unit]
    keys: NamedArray  # [layer, head, key, unit]
    values: NamedArray  # [layer, head, key, unit]
    scores: NamedArray  # [layer, head, query, key]
    masked: NamedArray  # [layer, head, query, key]; minus infinity where masked
    context: NamedArray  # [layer, head, query, unit]
    joined: NamedArray | None  # [layer, query, unit], the concatenated heads; None: there is one head
    output: NamedArray | None  # [layer, query, unit], after W_O; None: there is no W_O


@dataclass(frozen=True)
class LayerMixing:
    """The positions that a layer mixes, by gradients, and the gates and filters of a mixer without attention weights."""

    stack: str  # encoder or decoder
    layer: int
    mixer: str
    weighted: bool  # whether it has attention weights
    states: Sequence[int]  # the positions whose receptive field is shown
    reach: NamedArray  # [state, token]: how much the layer's output at a position changes with its input at another
    width: float  # the distance in tokens within which nine tenths of the field lie, on average
    gate_names: Sequence[str]
    gates: (
        NamedArray | None
    )  # [gate, token]: mean size of each gate of Hyena; decay and strength of each head of the delta rule
    filter_names: Sequence[str]
    filters: NamedArray | None  # [filter, lag]: some filters of Hyena


@dataclass(frozen=True)
class Outputs:
    """The most probable tokens at each target step, the end mark's step last, and the probability of the actual token."""

    tokens: Sequence[Sequence[str]]  # [target][rank]
    probabilities: NamedArray  # [target, rank]
    said: NamedArray  # [target]: the probability of the actual target token


@dataclass(frozen=True)
class Search:
    """The result of one search."""

    name: str  # greedy, beam, exact
    text: str
    tokens: Sequence[str]
    logprob: float
    score: float  # normalised by length; in an exact search the log-probability
    finished: bool
    tree: SearchTree  # of an exact search: its first nodes and the path to the winner
    nodes: int | None = None  # exact search only: how many partial outputs were continued
    proved: bool | None = None  # exact search only: whether the result is proved to be the most probable


@dataclass(frozen=True)
class Agreement:
    """Rank correlations of two methods over the source words, averaged over the target words; None: all undefined."""

    one: str
    other: str
    kendall: float | None  # tau-b
    spearman: float | None


@dataclass(frozen=True)
class Attribution:
    """The effect of each source word on log p of each target token."""

    occlusion: NamedArray  # [target, source_word]: the drop of log p if <unk> replaces the word
    gradients: NamedArray  # [target, source_word]: integrated gradients, summed over the word's tokens
    gap: NamedArray  # [target]: log p(y|x) - log p(y|every word unknown), minus the sum of the gradients
    agreement: Sequence[Agreement]


@dataclass(frozen=True)
class WhatIf:
    """The translation of the same sentence under one change."""

    name: str  # describes the change
    source: str  # the translated text
    text: str  # the new translation
    logprob: float
    kept_logprob: float  # of the original translation, under the change
    kept_token_logprobs: NamedArray  # [target], of the original translation
    token_changes: NamedArray  # [target]: the difference to the log-probabilities without the change
    alignment: AlignmentMap | None  # of the new translation


@dataclass(frozen=True)
class Neighbours:
    """For each token, the pieces with the most similar embeddings."""

    tokens: Sequence[Sequence[str]]  # [token][rank]
    cosines: NamedArray  # [token, rank]


@dataclass(frozen=True)
class States:
    """Norms of the states of a stack, from input to output, and of the gradients of -log p(target) by them."""

    layers: Sequence[str]
    norms: NamedArray  # [layer, token]
    gradients: NamedArray  # [layer, token]


@dataclass(frozen=True)
class Structure:
    """Positions, embeddings, state norms and receptive field of the network for this sentence."""

    positions: NamedArray | None  # [position, unit], added to embeddings; None: nothing is added
    gram: NamedArray | None  # [position, other]: their dot products
    source: Neighbours | None
    target: Neighbours | None
    encoder: States
    decoder: States
    reach: NamedArray  # [state, word]: how much each encoder state depends on each embedding
    reach_by_distance: NamedArray  # [distance]: the mean over all pairs at this distance


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of one sentence pair. Parts that the model lacks, or that were not requested, are empty or None."""

    model: ModelFacts
    source: Side
    target: Side
    given: bool  # whether the target was given, not translated by the model
    logprob: float  # log p(target | source), the end mark included
    token_logprobs: NamedArray  # [target]
    attention: Mapping[AttentionName, NamedArray]  # [layer, head, query, key]
    outputs: Outputs
    computation: Mapping[AttentionName, Computation] = field(default_factory=dict)
    alignments: Mapping[str, AlignmentMap] = field(default_factory=dict)  # by method
    mixing: Sequence[LayerMixing] = ()  # empty if all layers have attention weights
    pooling: NamedArray | None = None  # [token]: the weights of a classifier's attention pooling; None: another pooling
    searches: Sequence[Search] = ()
    attribution: Attribution | None = None
    what_if: Sequence[WhatIf] = ()
    structure: Structure | None = None
    task: str = (
        "translate"  # or generate: the target is the text itself; classify: the label; pretrain: a piece for each gap
    )

    def __repr__(self) -> str:
        """The sentence pair, its log-probability and the parts, in two lines."""
        parts = (*self.attention, *(name for name in _PARTS if getattr(self, name)))
        texts = f"{shown(self.source.text, _SHOWN)!r} -> {shown(self.target.text, _SHOWN)!r}"
        return (
            f"<Explanation by {shown(self.model.name, _SHOWN)}: {texts}, log-probability {self.logprob:.4f};\n"
            f" it has {', '.join(parts)}; .save('page.html') writes it>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html), the data (.json) or a figure (.png, .svg, .pdf), as `regard explain --out`."""
        from regard.explain.sentence_page import write_explanations
        from regard.tasks.checks import check_path

        check_path(path, "a file to write")
        write_explanations([self], Path(path))

    def _repr_html_(self) -> str:
        """The page in an iframe, for notebooks."""
        from regard.explain.sentence_page import render_sentences

        page = html.escape(render_sentences([self]))
        return f'<iframe srcdoc="{page}" style="width:100%;height:42rem;border:0" title="explanation"></iframe>'

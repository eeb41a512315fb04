"""What a report shows, as plain typed records: sentences, alignment maps, the tree of a search, and the whole of a run.

Nothing here knows a model, a tensor or a page. A record that contradicts itself is refused when it is made, where the
mistake is, and not later by a blank figure in a browser.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from regard.explain.explanation import Explanation

Link = tuple[int, int]  # (source word, target word), both counted from 0


@dataclass(frozen=True)
class SentenceResult:
    """One translated sentence beside its reference."""

    source: str
    reference: str
    hypothesis: str
    score: float  # the search's normalised score
    chrf: float  # against the reference, 0 to 100


@dataclass(frozen=True)
class AlignmentMap:
    """How much each target word looks at each source word, and the links drawn from it."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: Sequence[Sequence[float]]  # [target words][source words]; a row sums to about 1
    links: Sequence[Link]  # predicted
    gold: Sequence[Link] | None = None  # None: nobody knows the true links

    def __post_init__(self) -> None:
        rows, columns = len(self.target_words), len(self.source_words)
        if len(self.weights) != rows or any(len(row) != columns for row in self.weights):
            found = f"{len(self.weights)} rows of {sorted({len(row) for row in self.weights})}"
            raise ValueError(f"alignment weights are {found}; {rows} target words need {rows} rows of {columns}")
        for source, target in [*self.links, *(self.gold or ())]:
            if not (0 <= source < columns and 0 <= target < rows):
                raise ValueError(f"link {source}-{target} is outside of {columns} source and {rows} target words")


NodeState = Literal["kept", "cut", "finished", "best"]


@dataclass(frozen=True)
class TreeNode:
    """One hypothesis of a search: its parent's words and one token more."""

    id: int
    parent: int | None  # None: the root, before the first token
    text: str  # the token; where any holds sentencepiece's mark U+2581, the page joins them by it, otherwise by spaces
    logprob: float  # of the whole prefix
    score: float  # normalised by length
    state: NodeState
    step: int  # how many tokens the prefix holds; the root has 0
    bound: float | None = None  # of an exact search: log-probability of the best whole output known then
    hopeful: int | None = None  # and how many continuations are more probable than it


@dataclass(frozen=True)
class SearchTree:
    """Every hypothesis that a search looked at for one sentence: kept, cut, finished, and the one that won.

    Of an exact search: the partial outputs that were continued; `cut` is one with no hopeful continuation, `finished` a whole output
    that was the best until then. `beam` is the width of the beam that gave its first bound.
    """

    source: str
    nodes: Sequence[TreeNode]
    beam: int
    alpha: float

    def __post_init__(self) -> None:
        steps = {node.id: node.step for node in self.nodes}
        if len(steps) != len(self.nodes):
            raise ValueError(f"a search tree's node ids must differ; {len(self.nodes)} nodes have {len(steps)} ids")
        for node in self.nodes:
            if node.parent is None:
                continue
            if node.parent not in steps:
                raise ValueError(f"node {node.id} names parent {node.parent}, which is not in the tree")
            if steps[node.parent] >= node.step:
                raise ValueError(f"node {node.id} at step {node.step} must come after its parent {node.parent}")


@dataclass(frozen=True)
class Report:
    """All that the page of a run shows. Only the title is needed: a part that is missing is left out or said to be missing."""

    title: str
    source_language: str | None = None
    target_language: str | None = None
    created: str = ""  # when, as the page should print it
    version: str = ""  # of regard
    reproduce: str = ""  # the shell command(s) that give this run again
    settings: Mapping[str, Any] = field(default_factory=dict)  # nested mappings are shown with dotted names
    events: Sequence[Mapping[str, Any]] = ()  # the objects of log.jsonl, in order
    metrics: Mapping[str, Any] = field(default_factory=dict)  # metrics.json
    worst: Sequence[SentenceResult] = ()  # lowest chrF first
    best: Sequence[SentenceResult] = ()
    alignments: Sequence[AlignmentMap] = ()
    beam_tree: SearchTree | None = None
    explanation: "Explanation | None" = None  # of one sentence

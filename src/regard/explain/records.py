"""The records of a report: sentences, alignment maps, search trees, and the report of a run.

An inconsistent record is refused when it is made, so that the error shows where the mistake is, not as a blank figure in a browser.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from regard.explain.captions import CaptionMaps
    from regard.explain.explanation import Explanation
    from regard.explain.pictures import PictureExplanation

Link = tuple[int, int]  # (source word, target word), both counted from 0
Row = Mapping[str, Any]  # a line of the results file, or a validation sample


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
    """Alignment weights between target and source words, and the links predicted from them."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: Sequence[Sequence[float]]  # [target words][source words]; a row sums to about 1
    links: Sequence[Link]  # predicted
    gold: Sequence[Link] | None = None  # None: unknown

    def __post_init__(self) -> None:
        rows, columns = len(self.target_words), len(self.source_words)
        if len(self.weights) != rows or any(len(row) != columns for row in self.weights):
            shape = f"{len(self.weights)} rows of {sorted({len(row) for row in self.weights})}"
            raise ValueError(f"alignment weights are {shape}; {rows} target words need {rows} rows of {columns}")
        for source, target in [*self.links, *(self.gold or ())]:
            if not (0 <= source < columns and 0 <= target < rows):
                raise ValueError(f"link {source}-{target} is outside of {columns} source and {rows} target words")


NodeState = Literal["kept", "cut", "finished", "best"]


@dataclass(frozen=True)
class TreeNode:
    """One hypothesis of a search: its parent's prefix and one more token."""

    id: int
    parent: int | None  # None: the root, before the first token
    text: str  # the token; the page joins tokens at U+2581 if any token has it, else with spaces
    logprob: float  # of the whole prefix
    score: float  # normalised by length
    state: NodeState
    step: int  # tokens of the prefix; 0 at the root
    bound: float | None = None  # exact search only: log-probability of the best complete output so far
    hopeful: int | None = None  # exact search only: continuations that are more probable than the bound


@dataclass(frozen=True)
class SearchTree:
    """The hypotheses of a search for one sentence: kept, cut, finished, and the best.

    In an exact search they are the partial outputs it continued. `cut`: no continuation can beat the bound; `finished`: a complete output
    that was the best so far. `beam` is the width of the beam search that gave the first bound.
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
class Transitions:
    """The transition matrix of a Markov model, or its most frequent rows and columns."""

    contexts: Sequence[str]  # the rows
    tokens: Sequence[str]  # the columns
    probabilities: Sequence[Sequence[float]]  # [contexts][tokens]
    masked: Sequence[bool]  # of each context: a pair that has no vote
    all_contexts: int
    all_tokens: int

    def __post_init__(self) -> None:
        shapes = {len(row) for row in self.probabilities} - {len(self.tokens)}
        if shapes or not len(self.contexts) == len(self.probabilities) == len(self.masked):
            raise ValueError(f"transitions of {len(self.contexts)} contexts to {len(self.tokens)} tokens do not fit")


@dataclass(frozen=True)
class PictureResult:
    """One classified picture beside its label."""

    picture: str  # its file, or the file and its number there
    png: str  # in base64
    expected: str
    found: str
    probability: float  # of the found label
    probability_of_expected: float


@dataclass(frozen=True)
class PictureViews:
    """The pictures of a classifier's report."""

    worst: Sequence[PictureResult]  # the wrong ones, the surest first
    cells: Mapping[
        str, PictureResult
    ]  # "row,column" of the confusion matrix -> the picture that the model was surest of
    explained: "Sequence[PictureExplanation]"  # what the network saw in the worst


@dataclass(frozen=True)
class ForecastViews:
    """The views of a forecaster's report, as the page reads them."""

    windows: Sequence[Mapping[str, Any]]  # series, origin, times, past, truth, forecast, bands, mse
    shares: Sequence[str]  # of the intervals, in percent, the widest first
    covered: Sequence[
        Mapping[str, Any]
    ] = ()  # share, and what the interval covers, and covered before calibration, in percent
    by_step: Mapping[str, Any] | None = None  # MSE of the model and of baselines, and coverage, by step of the horizon
    baselines: Mapping[str, Any] | None = None  # a table: columns, and rows of scores
    attended: Mapping[str, Any] | None = None  # rows, columns and weights of the past of one window

    def __post_init__(self) -> None:
        for window in self.windows:
            steps = {len(window["truth"]), len(window["forecast"])}
            if len(steps) > 1 or len(window["times"]) != len(window["past"]) + max(steps):
                raise ValueError(f"a window of {len(window['times'])} times has parts of other lengths")


@dataclass(frozen=True)
class Report:
    """The content of a run's page. Only the title is required: missing parts are left out or marked as missing."""

    title: str
    source_language: str | None = None
    target_language: str | None = None
    created: str = ""  # date and time, as printed
    version: str = ""  # of regard
    reproduce: str = ""  # the shell command that repeats the run
    settings: Mapping[str, Any] = field(default_factory=dict)  # nested mappings are shown with dotted names
    events: Sequence[Mapping[str, Any]] = ()  # the objects of log.jsonl, in order
    metrics: Mapping[str, Any] = field(default_factory=dict)  # metrics.json
    worst: Sequence[SentenceResult] = ()  # lowest chrF first
    best: Sequence[SentenceResult] = ()
    alignments: Sequence[AlignmentMap] = ()
    beam_tree: SearchTree | None = None
    explanation: "Explanation | None" = None  # of one sentence
    transitions: Transitions | None = None  # of a Markov model
    pictures: PictureViews | None = None  # of a classifier of pictures
    captioned: "Sequence[CaptionMaps]" = ()  # pictures of a captioner
    forecasts: ForecastViews | None = None  # of a forecaster

"""The values of a captioner: a caption, and where each of its words looks. Plain values."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regard.search.hypothesis import Proof

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Caption:
    """The caption of a picture, with its score and tokens."""

    picture: str
    """The name of the picture: its path, or its number in the call."""
    text: str
    """The caption."""
    score: float
    """The score that ranks hypotheses: log p(text | picture) / |tokens|^alpha, or as the options say."""
    tokens: list[str]
    """The pieces of the caption, without the end mark."""
    logprob: float
    """log p(text | picture), the end mark included if finished."""
    finished: bool = True
    """Whether the model ended it; False: it was cut at the maximum length."""
    alternatives: tuple["Caption", ...] = ()
    """The n best, best first, including this one; empty if only one was requested."""
    unmet: tuple[str, ...] = ()
    """The requested prefix and phrases that the caption does not have."""
    utility: float | None = None
    """In minimum Bayes risk decoding, the mean chrF with all samples, which ranks them."""
    proof: Proof | None = None
    """The proof of an exact search: the number of nodes, and whether no output is more probable."""
    timed_out: bool = False
    """Whether the time limit ended its search."""


@dataclass(frozen=True)
class WordMaps:
    """Where each word of a caption looks in the picture."""

    words: list[str]
    weights: "Tensor" = field(compare=False, repr=False)
    """[words, rows, columns] of the patches; each map sums to 1."""

    def peak(self, word: int) -> tuple[int, int]:
        """The row and column of the patch with the largest weight, the first if equal."""
        columns = self.weights.shape[2]
        return divmod(int(self.weights[word].flatten().argmax()), columns)

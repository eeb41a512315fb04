"""The values of a translator: a tokenized source, a translation, a word alignment.

They are plain values, except for `Translation.alignment`, which the model computes at the first access.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from regard.search.hypothesis import Proof
from regard.tasks.translate.once import Once
from regard.text.protected import Span

Links = list[tuple[int, int]]
"""(source word, target word), both counted from 0. Words are separated by white space."""


@dataclass(frozen=True, slots=True)
class Source:
    """A tokenized text, made by `Translator.read`."""

    text: str
    """The text as it was given."""
    ids: list[int]
    """Its tokens, without an end mark."""
    truncated: bool
    """Whether the text was too long and `ids` are only its beginning."""


@dataclass(frozen=True, slots=True)
class TermUse:
    """A term of a glossary in a source, and what its translation says for it."""

    source: str
    """The term as it stands in the source."""
    targets: tuple[str, ...]
    """The translations that the glossary lists."""
    said: str | None
    """The form that the translation has; None: it has none."""
    line: int
    """The line of the glossary."""


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    source: str
    """The text as it was given."""
    text: str
    """The translation."""
    score: float
    """The score that ranks hypotheses: log p(text | source) / |tokens|^alpha, or as the options say."""
    tokens: list[str]
    """The pieces of the translation, without the end mark."""
    logprob: float
    """log p(text | source), the end mark included if finished."""
    finished: bool = True
    """Whether the model ended it; False: it was cut at the maximum length."""
    alternatives: tuple["Translation", ...] = ()
    """The n best, best first, including this one; empty if only one was requested."""
    truncated: bool = False
    """Whether the source was too long and only its beginning was translated."""
    unmet: tuple[str, ...] = ()
    """The requested prefix and phrases that the translation does not have."""
    utility: float | None = None
    """In minimum Bayes risk decoding, the mean chrF with all samples, which ranks them."""
    second_logprob: float | None = None
    """In reranking, log p(text) of the language model, or log p(source | text) of the reverse translator."""
    proof: Proof | None = None
    """The proof of an exact search: the number of nodes, and whether no output is more probable."""
    timed_out: bool = False
    """Whether the time limit ended its search."""
    protected: tuple[Span, ...] = ()
    """Where the protected strings stand in `text`, in the order of the source (`terms/`)."""
    terms: tuple[TermUse, ...] = ()
    """The terms of a glossary in the source, in its order (`terms/`)."""
    links: Callable[[], Links] = field(default=list, compare=False, repr=False)
    """The function that computes `alignment`. It is called once."""

    def __post_init__(self) -> None:
        if not isinstance(self.links, Once):  # a copy by `replace` shares it
            object.__setattr__(self, "links", Once(self.links))

    @property
    def alignment(self) -> Links:
        """Links between the normalised source and `text`: for each target word the source word with the most attention."""
        return self.links()


@dataclass(frozen=True)
class Alignment:
    """The word alignment of a given source and target."""

    links: Links
    """For each target word the source word with the largest weight."""
    weights: "NDArray[np.float64]" = field(compare=False, repr=False)
    """[target words, source words]. Each row sums to 1; the row of a truncated word is zero."""
    source_words: list[str]
    """The words of the normalised source."""
    target_words: list[str]
    """The words of the normalised target."""
    truncated: bool = False
    """Whether a side was truncated; words past the limit have no links."""

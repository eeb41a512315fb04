"""The value of a language model: a prompt with its continuation. Plain values."""

from dataclasses import dataclass

from regard.search.hypothesis import Proof


@dataclass(frozen=True)
class Generation:
    """The continuation of a prompt."""

    prompt: str
    """The prompt as it was given."""
    text: str
    """The continuation, without the prompt."""
    tokens: list[str]
    """The pieces of the text."""
    logprob: float
    """log p(text | prompt), the end mark included if finished."""
    score: float
    """The score that ranks several continuations."""
    finished: bool
    """Whether the model ended it; False: it was cut at the maximum length."""
    alternatives: tuple["Generation", ...] = ()
    """All continuations of this prompt, this one first; empty if only one was requested."""
    truncated: bool = False
    """Whether the prompt was too long and only its end was read."""
    timed_out: bool = False
    """Whether the time limit ended its search."""
    proof: Proof | None = None
    """The proof of an exact search: the number of nodes, and whether no text is more probable."""

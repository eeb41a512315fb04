"""The maximum length of inputs, in tokens and in characters, and the warning about truncation."""

MAX_TOKENS = 1024
"""The maximum number of tokens of a text, without end mark. The cost of attention grows with its square."""
MAX_CHARACTERS = 1 << 17
"""Characters of a text that are normalised and tokenized, or `CHARACTERS_A_TOKEN` for each token that is kept if that is more."""
CHARACTERS_A_TOKEN = 64


class TruncationWarning(UserWarning):
    """A text was too long and was truncated."""


def most_characters(max_tokens: int) -> int:
    """The characters of a text that are read where at most `max_tokens` tokens of it are kept."""
    return max(MAX_CHARACTERS, CHARACTERS_A_TOKEN * max_tokens)

"""The maximum input length, and the warning about truncation."""

MAX_TOKENS = 1024
"""The maximum number of tokens of a text, without end mark. The cost of attention grows with its square."""


class TruncationWarning(UserWarning):
    """A text was too long and was truncated."""

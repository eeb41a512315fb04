"""Text in one language that a user gives: its sentences, and the refusal of text in another language."""

from collections import Counter
from collections.abc import Iterable, Sequence

from regard.data.readers import read_all
from regard.errors import DataError

SAMPLE = 2_000
"""Sentences that tell the language."""
FEWEST = 5
"""Sentences of which the language can be told, below which nothing is said."""
NO_CHECK = "--no-language-check"


def read_sentences(path: str, flag: str) -> list[str]:
    """The sentences of a file without blank lines; none is refused."""
    sentences = [line.strip() for line in read_all(path)]
    sentences = [line for line in sentences if line]
    if not sentences:
        raise DataError(f"{flag} {path}: no sentences in it; give a text that has some, or leave it out")
    return sentences


def check_language(path: str, flag: str, sentences: Sequence[str], language: str | None, like: Iterable[str]) -> None:
    """Refuse a text most of which is in another language than it should be.

    language: its code, as the run has it. like: sentences of that side of the training text, which tell the language if the code does not.
    """
    from regard.data.language import guess_languages, statistics

    names = statistics().names
    column = None if language is None else statistics().column(language)
    expected = names[column] if column is not None else _most_frequent(guess_languages(list(like)[:SAMPLE]))
    counts = Counter(name for name in guess_languages(_spread(sentences)) if name is not None)
    if expected is None or counts.total() < FEWEST:
        return
    found, many = counts.most_common(1)[0]
    if found.split("-")[0] == expected.split("-")[0]:
        return
    own = sum(count for name, count in counts.items() if name.split("-")[0] == expected.split("-")[0])
    raise DataError(
        f"{flag} {path}: {many:,} of {counts.total():,} sentences look like {found}, and {own:,} like {expected}, which this side of the "
        f"run has; give text in {expected}, or {NO_CHECK} if it is"
    )


def _spread(sentences: Sequence[str]) -> list[str]:
    """At most `SAMPLE` sentences from all parts of a text."""
    return list(sentences[:: max(1, -(-len(sentences) // SAMPLE))])


def _most_frequent(guesses: Sequence[str | None]) -> str | None:
    counts = Counter(name for name in guesses if name is not None)
    for name, count in counts.most_common(1):
        return name if 2 * count > counts.total() and counts.total() >= FEWEST else None
    return None

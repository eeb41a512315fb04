"""Two files read side by side, and the gold links between them, for the verbs that take pairs."""

from regard.data.readers import read_pairs
from regard.errors import ConfigError
from regard.metrics.alignment import Links


def sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """All lines of both files; unequal counts are refused."""
    if source == target == "-":
        raise ConfigError("standard input '-' can be read only once; give one of the two sides as a file")
    pairs = list(read_pairs(source, target))
    return [one for one, _ in pairs], [other for _, other in pairs]


def gold_links(path: str, sources: list[str], references: list[str]) -> list[tuple[Links, Links]]:
    """Sure and possible links of each sentence, between words that it has."""
    from regard.data.alignments import read_links

    return list(read_links(path, zip(sources, references, strict=True)))

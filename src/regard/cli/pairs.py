"""Reads parallel files and their gold alignments."""

from regard.data.readers import read_pairs
from regard.errors import ConfigError
from regard.metrics.alignment import Links


def read_sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """The lines of both files, which must have equally many."""
    if source == target == "-":
        raise ConfigError("standard input '-' can be read only once; give one of the two sides as a file")
    pairs = list(read_pairs(source, target))
    return [source_line for source_line, _ in pairs], [target_line for _, target_line in pairs]


def gold_links(path: str, sources: list[str], references: list[str]) -> list[tuple[Links, Links]]:
    """The sure and possible links of each sentence pair. Links outside of its words are refused."""
    from regard.data.alignments import read_links

    return list(read_links(path, zip(sources, references, strict=True)))

"""Reads parallel files and their gold alignments."""

from regard.data.readers import read_parallel
from regard.metrics.alignment import Links


def read_sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """The lines of both files, which must have equally many."""
    sources, targets = read_parallel([source, target])
    return sources, targets


def gold_links(path: str, sources: list[str], references: list[str]) -> list[tuple[Links, Links]]:
    """The sure and possible links of each sentence pair. Links outside of its words are refused."""
    from regard.data.alignments import read_links

    return list(read_links(path, zip(sources, references, strict=True)))

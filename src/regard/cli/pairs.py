"""Two files read side by side, and the gold links between them, for the verbs that take pairs."""

from regard.data.readers import read_lines, read_pairs
from regard.errors import ConfigError, DataError
from regard.metrics.alignment import Links, parse_pharaoh


def sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """All lines of both files; unequal counts are refused."""
    if source == target == "-":
        raise ConfigError("standard input '-' can be read only once; give one of the two sides as a file")
    pairs = list(read_pairs(source, target))
    return [one for one, _ in pairs], [other for _, other in pairs]


def gold_links(path: str, sources: list[str], references: list[str]) -> list[tuple[Links, Links]]:
    """Sure and possible links of each sentence, between words that it has."""
    links = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            links.append(parse_pharaoh(line))
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    if len(links) != len(sources):
        raise DataError(f"{path}: {len(links)} lines, but {len(sources)} sentences; it needs one line a sentence")
    for number, ((_, possible), source, reference) in enumerate(zip(links, sources, references, strict=True), start=1):
        for one, other in possible:
            if one >= len(source.split()) or other >= len(reference.split()):
                raise DataError(f"{path}:{number}: link {one}-{other} is outside of the sentence; words count from 0")
    return links

"""Two files read side by side, for the verbs that take pairs."""

from regard.data.readers import read_pairs
from regard.errors import ConfigError


def sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """All lines of both files; unequal counts are refused."""
    if source == target == "-":
        raise ConfigError("standard input '-' can be read only once; give one of the two sides as a file")
    pairs = list(read_pairs(source, target))
    return [one for one, _ in pairs], [other for _, other in pairs]

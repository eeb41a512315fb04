"""Two files read side by side, for the verbs that take pairs."""

from regard.data.readers import read_pairs


def sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """All lines of both files; unequal counts are refused."""
    pairs = list(read_pairs(source, target))
    return [one for one, _ in pairs], [other for _, other in pairs]

"""Lists the tensors of a network by their modules, such as `embedding, encoder.0-3, decoder.0-3.cross`."""

from collections.abc import Collection, Mapping
from itertools import groupby

Part = tuple[str, int, str]
"""(stack or path, number of the block or -1, sublayer or nothing)."""


def listed(chosen: Collection[str], names: Mapping[str, tuple[str, ...]]) -> str:
    """The modules of the chosen tensors. names: every tensor of the network, with all names that it has.

    A block is listed as a whole if all of its tensors are chosen, and else by its sublayers.
    """
    whole: dict[Part, bool] = {}
    for name, aliases in names.items():
        block = _block(_part(name, aliases))
        whole[block] = whole.get(block, True) and name in chosen
    parts: dict[Part, None] = {}
    for name, aliases in names.items():
        if name in chosen:
            part = _part(name, aliases)
            parts[_block(part) if whole[_block(part)] else part] = None
    return ", ".join(_ranges(list(parts)))


def _part(name: str, aliases: tuple[str, ...]) -> Part:
    if {"source.embedding.weight", "target.embedding.weight"} <= set(aliases):
        return "embedding", -1, ""
    first, *rest = name.split(".")
    if len(rest) > 1 and rest[0].isdigit():
        return first, int(rest[0]), rest[1].removeprefix("around_")
    path = [first, *rest[:1]] if first in ("source", "target") else [first]
    return ".".join(path), -1, ""


def _block(part: Part) -> Part:
    stack, number, _ = part
    return stack, number, ""


def _ranges(parts: list[Part]) -> list[str]:
    """Parts of neighbouring blocks together: encoder.0, encoder.1 -> encoder.0-1."""
    texts: list[str] = []
    kinds = dict.fromkeys((stack, sublayer) for stack, _, sublayer in parts)
    for stack, sublayer in kinds:
        numbers = sorted(number for one, number, other in parts if (one, other) == (stack, sublayer))
        end = f".{sublayer}" if sublayer else ""
        if numbers == [-1]:
            texts.append(stack)
            continue
        for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            own = [number for _, number in run]
            texts.append(f"{stack}.{own[0]}{f'-{own[-1]}' if len(own) > 1 else ''}{end}")
    return texts

"""Lists the tensors of a network by their modules, such as `embedding, encoder.0-3, decoder.0-3.cross`."""

from collections.abc import Collection
from itertools import groupby

Part = tuple[str, int, str]
"""(stack or path, number of the block or -1, sublayer or nothing)."""

ORDER = (
    *("embedding", "source.embedding", "source.segment", "source.positions", "source.norm"),
    *("encoder_bias", "encoder", "encoder_norm", "bridge"),
    *("target.embedding", "target.segment", "target.positions", "target.norm"),
    *("decoder_bias", "decoder", "decoder_norm", "pooler", "output", "output_bias"),
)


def listed(chosen: Collection[str], names: Collection[str]) -> str:
    """The modules of the chosen tensors. names: every tensor of the network.

    A block is listed as a whole if all of its tensors are chosen, and else by its sublayers.
    """
    one_table = len([name for name in names if name.endswith(".embedding.weight")]) == 1
    part_of = {name: _part(name, one_table=one_table) for name in names}
    whole: dict[Part, bool] = {}
    for name, part in part_of.items():
        whole[_block(part)] = whole.get(_block(part), True) and name in chosen
    parts: dict[Part, None] = {}
    for name, part in part_of.items():
        if name in chosen:
            parts[_block(part) if whole[_block(part)] else part] = None
    return ", ".join(_ranges(sorted(parts, key=_place)))


def _place(part: Part) -> tuple[int, bool]:
    """Sort key: from the input to the output, sublayers after whole blocks. Unknown modules come last."""
    stack, _, sublayer = part
    return ORDER.index(stack) if stack in ORDER else len(ORDER), bool(sublayer)


def _part(name: str, *, one_table: bool) -> Part:
    if one_table and name.endswith(".embedding.weight"):
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

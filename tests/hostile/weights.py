"""safetensors files whose headers lie: about names, shapes, dtypes, offsets and lengths. The manifest is correct."""

import json
import struct
from pathlib import Path
from random import Random
from typing import Any

from hostile import draw
from hostile.bundles import choose
from hostile.verbs import Command

DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", "F8_E4M3", "C64", "nothing")
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def weights(rng: Random, directory: Path) -> Command:
    """A bundle whose weights were attacked."""
    checkpoint, command = choose(rng, directory)
    name = "optimiser.safetensors" if command.arguments[0] == "resume" and rng.random() < 0.5 else "model.safetensors"
    path = checkpoint / name
    if not path.exists():
        path = checkpoint / "model.safetensors"
    header, content = split(path.read_bytes())
    attack = rng.choice(["shape", "shape", "dtype", "rename", "extra", "remove", "length", "json", "values", "offsets"])
    tensors = sorted(key for key in header if key != "__metadata__")
    if not tensors:
        attack = rng.choice(["length", "json", "extra"])
    if attack in ("shape", "dtype", "remove", "rename", "offsets", "values"):
        header, content = changed(rng, header, content, attack, rng.choice(tensors))
    elif attack == "extra":
        header = {**header, draw.text(rng): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}
    elif attack == "json":
        encoded = draw.json_text(rng, header).encode("utf-8", "surrogatepass")
        path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + content)
        draw.sign(checkpoint)
        return command
    path.write_bytes(joined(header, content))
    if attack == "length":
        length = rng.choice([0, 1, 2**63, 2**64 - 1, 100_000_001, 10])
        path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
    draw.sign(checkpoint)
    return command


def changed(
    rng: Random, header: dict[str, Any], content: bytes, attack: str, name: str
) -> tuple[dict[str, Any], bytes]:
    """The header and the content with one tensor attacked. Offsets stay those of a well-formed file, unless they are attacked."""
    tensor = dict(header[name])
    rest = {key: value for key, value in header.items() if key != name}
    start, end = tensor["data_offsets"]
    if attack == "remove":
        return rewritten(rest, content)
    if attack == "rename":
        return {**rest, name + draw.text(rng)[:50]: tensor}, content
    if attack == "values":
        poison = struct.pack("<f", rng.choice([float("nan"), float("inf"), 3e38])) * ((end - start) // 4)
        return header, content[:start] + poison + content[start + len(poison) :]
    if attack == "offsets":
        tensor["data_offsets"] = rng.choice(
            [[end, start], [0, 2**62], [start, end + 8], [-1, end], [start], "x", [start, start]]
        )
        return {**rest, name: tensor}, content
    if attack == "dtype":
        tensor["dtype"] = rng.choice(DTYPES)
    else:
        tensor["shape"] = rng.choice(
            [
                [],
                [0],
                [1],
                [2**40],
                [4_000_000, 1],
                [1, *tensor["shape"]],
                tensor["shape"][::-1],
                [-1],
                tensor["shape"][:1],
                ["x"],
            ]
        )
    size = SIZES.get(tensor["dtype"], 4)
    for length in tensor["shape"]:
        size *= length if isinstance(length, int) else 1
    if 0 <= size <= 1 << 24:  # a file that is well-formed, of another shape
        blob = (content[start:end] * (size // max(1, end - start) + 1))[:size]
        return rewritten({**rest, name: tensor}, content, {name: blob})
    return {**rest, name: tensor}, content


def split(file: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack("<Q", file[:8])[0]
    return json.loads(file[8 : 8 + length]), file[8 + length :]


def joined(header: dict[str, Any], content: bytes) -> bytes:
    encoded = json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(encoded)) + encoded + content


def rewritten(
    header: dict[str, Any], content: bytes, blobs: dict[str, bytes] | None = None
) -> tuple[dict[str, Any], bytes]:
    """A well-formed header and content of the same tensors, with other bytes for some."""
    parts, offset, new = [], 0, {}
    for name, tensor in header.items():
        if name == "__metadata__":
            new[name] = tensor
            continue
        start, end = tensor["data_offsets"]
        blob = (blobs or {}).get(name, content[start:end])
        new[name] = {**tensor, "data_offsets": [offset, offset + len(blob)]}
        parts.append(blob)
        offset += len(blob)
    return new, b"".join(parts)

"""Draws hostile texts, values and files. What they are put into is the matter of each family."""

import json
import os
import socket
from pathlib import Path
from random import Random
from typing import Any

STEERING = "\x1b]0;stolen title\x07\x1b[2J"
REORDERING = "\u202egpj.exe\u2066\u200f"
OUTSIDE = Path("..") / "outside"
"""Beside the directory of a round: what no command may read out of or write into."""


def text(rng: Random) -> str:
    """A string that a terminal, a path or a codec may stumble over."""
    return rng.choice(
        [
            STEERING,
            REORDERING,
            "\x9b31m\x85",
            "a\nregard: forged line\r\n",
            "\x00",
            "\udcff\ud800",
            "",
            " ",
            "../" * rng.randint(1, 40) + "etc/passwd",
            "/dev/zero",
            "x" * rng.choice([256, 5_000, 200_000]),
            "e" + "\u0301" * rng.choice([30, 3_000]),
            "\ufeff\u200b\u2028",
            "{}%s%n{0.__class__}[bold]",
            "'; DROP TABLE\"\\",
            "".join(chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)])) for _ in range(12)),
        ]
    )


def value(rng: Random, depth: int = 0) -> Any:
    """A JSON value that is not what was expected."""
    kinds = ["text", "number", "constant"] if depth > 3 else ["text", "number", "constant", "list", "object"]
    kind = rng.choice(kinds)
    if kind == "text":
        return text(rng)
    if kind == "number":
        return rng.choice([0, -1, 1, 2**31, 2**63, -(2**63), 10**18, 1e308, -0.0, 1e-300, 0.5, 10**9, 10**5])
    if kind == "constant":
        return rng.choice([None, True, False, float("nan"), float("inf"), float("-inf")])
    if kind == "list":
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {text(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def mutated(rng: Random, whole: Any) -> Any:
    """A JSON value with one part replaced, removed or added, at any depth."""
    if isinstance(whole, dict) and whole:
        key = rng.choice(sorted(whole))
        if isinstance(whole[key], dict | list) and whole[key] and rng.random() < 0.7:
            return {**whole, key: mutated(rng, whole[key])}
        change = rng.choice(["replace", "replace", "remove", "add", "rename"])
        rest = {name: part for name, part in whole.items() if name != key}
        if change == "replace":
            return {**whole, key: value(rng)}
        if change == "remove":
            return rest
        return {**(whole if change == "add" else rest), text(rng): value(rng) if change == "add" else whole[key]}
    if isinstance(whole, list) and whole:
        place = rng.randrange(len(whole))
        return [*whole[:place], mutated(rng, whole[place]), *whole[place + 1 :]]
    return value(rng)


def json_text(rng: Random, whole: Any) -> str:
    """A JSON file that was attacked: a changed value, or a text that a parser may stumble over."""
    sound = json.dumps(whole)
    attack = rng.choice(["mutate", "mutate", "mutate", "deep", "digits", "twice", "surrogate", "cut", "other", "name"])
    if attack == "mutate":
        return json.dumps(mutated(rng, whole), ensure_ascii=rng.random() < 0.5)
    if attack == "deep":
        bracket = rng.choice(["[", '{"a":'])
        return sound[:-1] + ', "deep": ' + bracket * rng.choice([70, 2_000, 100_000])
    if attack == "digits":
        return sound[:-1] + ', "big": ' + "9" * rng.choice([400, 5_000, 100_000]) + "}"
    if attack == "twice":
        key = json.dumps(rng.choice(sorted(whole)) if isinstance(whole, dict) and whole else "a")
        return sound[:-1] + f", {key}: {json.dumps(value(rng))}}}"
    if attack == "surrogate":
        return sound.replace('"', '"\\ud800', 1)
    if attack == "cut":
        return sound[: rng.randrange(len(sound))]
    if attack == "name":
        return sound[:-1] + f', "{"k" * rng.choice([1_000, 1_000_000])}": 1}}'
    return rng.choice(["", "null", "[]", "0", '""', "NaN", "{", "\x00", "{}", '[{"a":1}]', "\ufeff{}"])


def write_text(path: Path, content: str) -> None:
    """Write a text that may have lone surrogates."""
    path.unlink(missing_ok=True)
    path.write_bytes(content.encode("utf-8", "surrogatepass"))


def damage_bytes(rng: Random, path: Path) -> None:
    """Flip, cut, repeat or insert bytes of a file."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 20])):
        place = rng.randrange(len(content) + 1)
        attack = rng.choice(["flip", "flip", "cut", "insert", "remove"])
        if attack == "flip" and place < len(content):
            content[place] ^= 1 << rng.randrange(8)
        elif attack == "cut":
            del content[place:]
        elif attack == "insert":
            content[place:place] = rng.randbytes(rng.choice([1, 4, 100]))
        else:
            del content[place : place + rng.choice([1, 4, 100])]
    path.write_bytes(bytes(content))


def replace_file(rng: Random, path: Path) -> None:
    """Put something else into the place of a file: what is not a regular file, a link that leads away, or nothing."""
    kind = rng.choice(
        ["fifo", "directory", "socket", "outside", "zero", "loop", "nothing", "empty", "sparse", "locked"]
    )
    content = path.read_bytes() if path.is_file() else b""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            here = os.open(path.parent, os.O_RDONLY)  # the path of a socket may have 107 bytes
            try:
                server.bind(f"/proc/self/fd/{here}/{path.name}")
            finally:
                os.close(here)
    elif kind == "outside":
        path.symlink_to(os.path.relpath(_round_of(path) / OUTSIDE / "secret.txt", path.parent))
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "empty":
        path.touch()
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(rng.choice([1 << 20, 1 << 30]))
    elif kind == "locked":
        path.write_bytes(content)
        path.chmod(0)


def _round_of(path: Path) -> Path:
    """The directory of the round, which is called `inside`."""
    return next(parent for parent in path.parents if parent.name == "inside")


def sign(bundle: Path) -> None:
    """Write a correct manifest, as an attacker can. Files that are no regular files are left out."""
    from regard.bundle.manifest import write_manifest

    manifest = bundle / "manifest.json"
    manifest.unlink(missing_ok=True)
    write_manifest(bundle)

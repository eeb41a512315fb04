"""Pictures and captions that are damaged, mislabelled or no pictures at all."""

import struct
import zlib
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import SMALL, TINY, Command

BOMB_SIDES = (20_000, 60_000, 2**31 - 1)


def picture(rng: Random, directory: Path) -> Command:
    """A picture to describe, to explain or to learn from, and the captions beside it."""
    path = rng.choice(sorted((directory / "pictures").rglob("*.png")))
    attack = rng.choice(["bytes", "bytes", "place", "bomb", "other", "captions"])
    if attack == "bytes":
        draw.damage_bytes(rng, path)
    elif attack == "place":
        draw.replace_file(rng, path)
    elif attack == "bomb":
        path.write_bytes(png_header(rng.choice(BOMB_SIDES), rng.choice(BOMB_SIDES)))
    elif attack == "other":
        path.write_bytes(rng.choice([b"GIF89a" + rng.randbytes(40), b"\xff\xd8\xff\xe0" + rng.randbytes(40), b"%PDF"]))
    else:
        _damage_captions(rng, directory / "captions.tsv")
    learning = ("--out", "out", *TINY)
    return rng.choice(
        [
            Command(("caption", "captioner", str(path.relative_to(directory)), "--max-length", "3")),
            Command(
                ("caption", "captioner", "--max-length", "3"),
                stdin=f"{path}\n{draw.text(rng)}\n".encode(errors="surrogatepass"),
            ),
            Command(("explain", "captioner", str(path.relative_to(directory))), escaped_output=True),
            Command(("train", "--task", "classify", "--images", "pictures", *learning, *SMALL)),
            Command(
                ("train", "--task", "caption", "--images", "pictures", "--captions", "captions.tsv", *learning, *SMALL)
            ),
            Command(
                ("evaluate", "captioner", "--images", "pictures", "--captions", "captions.tsv"), escaped_output=True
            ),
        ]
    )


def png_header(width: int, height: int) -> bytes:
    """A PNG that says how large it is and holds next to nothing."""
    size = struct.pack(">IIBBBBB", width & 0x7FFFFFFF, height & 0x7FFFFFFF, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", size), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _damage_captions(rng: Random, path: Path) -> None:
    """A line of the captions becomes something else, or the whole file does."""
    if rng.random() < 0.3:
        draw.replace_file(rng, path)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    name = lines[0].split("\t")[0]
    lines[rng.randrange(len(lines))] = rng.choice(
        [
            name,
            f"{name}\t",
            f"\t{name}",
            f"../outside/secret.txt\t{name}",
            f"{name}\t{draw.text(rng)}",
            f"{draw.text(rng)}\ta bar",
        ]
    )
    draw.write_text(path, "\n".join(lines) + "\n")

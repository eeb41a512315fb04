"""Texts to learn from and lines to answer that are of no known encoding, form or size."""

import gzip
import json
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import TINY, Command

PARALLEL = ("--src", "a.fr", "--tgt", "a.en")
TRAIN = ("--out", "out", *TINY, "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2")


def corpus(rng: Random, directory: Path) -> Command:
    """A corpus to check, convert, clean or train on."""
    kind = rng.choice(["lines", "lines", "jsonl", "tmx", "tsv", "gz", "place"])
    name = {"lines": "a.fr", "place": "a.fr", "gz": "b.gz"}.get(kind, f"b.{kind}")
    path = directory / name
    if kind == "jsonl":
        records = [{"translation": {"fr": f"le chat {number}", "en": f"the cat {number}"}} for number in range(20)]
        lines = [json.dumps(record) for record in records]
        lines[rng.randrange(20)] = draw.json_text(rng, records[0])
        draw.write_text(path, "\n".join(lines))
    elif kind == "tmx":
        draw.write_text(path, tmx_text(rng))
    elif kind == "place":
        draw.replace_file(rng, path)
    elif kind == "gz":
        path.write_bytes(gzip.compress(hostile_lines(rng)))
        if rng.random() < 0.5:
            draw.damage_bytes(rng, path)
    else:
        path.write_bytes(hostile_lines(rng))
    files = PARALLEL if name == "a.fr" else ("--pairs", name, "--src-lang", "fr", "--tgt-lang", "en")
    verb = rng.choice(["check", "check", "convert", "clean", "train"])
    if verb == "check":
        return Command(("data", "check", *files), escaped_output=True)
    if verb != "train":
        named = [word for word in files if word not in ("--src", "--tgt", "--pairs")]
        last = [rng.choice(["o.jsonl", "o.tmx", "o.parquet", "o.zip"])] if verb == "convert" else ["--out", "out"]
        languages = () if "--src-lang" in named else ("--src-lang", "fr", "--tgt-lang", "en")
        size = 2 if languages else 1  # files of the corpus
        return Command(("data", verb, *named[:size], *last, *named[size:], *languages))
    return Command(("train", *files, *TRAIN, "--set", "text.vocabulary=60"))


def lines(rng: Random, directory: Path) -> Command:
    """Lines on standard input, to translate, classify or go on with."""
    given = hostile_lines(rng)
    return rng.choice(
        [
            Command(("translate", "translator", "--max-length", "3"), stdin=given),
            Command(("translate", "translator", "--max-length", "3", "--engine", "torch"), stdin=given),
            Command(("translate", "translator", "--with-prefix", "--max-length", "3"), stdin=given),
            Command(("classify", "classifier"), stdin=given),
            Command(("generate", "writer", "-", "--max-length", "3"), stdin=given),
            Command(("score", "writer", "--text", "-"), stdin=given),
        ]
    )


def hostile_lines(rng: Random) -> bytes:
    """Lines of which some are not UTF-8, endless, of marks alone, or of control characters."""
    rows = [b"le chat dort\tthe cat sleeps", b"je suis\tI am"] * 18  # as many as a.en has
    for _ in range(rng.randint(1, 3)):
        rows[rng.randrange(len(rows))] = rng.choice(
            [
                draw.text(rng).encode("utf-8", "surrogatepass"),
                rng.randbytes(rng.choice([10, 1_000])),
                b"\xff\xfe" + "le chat".encode("utf-16-le"),
                b"a" * rng.choice([10_000, 1_000_000]),
                b"mot " * rng.choice([1_000, 100_000]),
                "e\u0301\u0302".encode() * rng.choice([100, 50_000]),
                b"\x00" * 1_000,
                b"\t" * rng.choice([3, 10_000]),
                b"",
            ]
        )
    return rng.choice([b"\n"] * 6 + [b"\r\n", b"\x00"]).join(rows) + rng.choice([b"", b"\n"])


def tmx_text(rng: Random) -> str:
    """A TMX file that was attacked."""
    unit = '<tu><tuv xml:lang="fr"><seg>le chat</seg></tuv><tuv xml:lang="en"><seg>the cat</seg></tuv></tu>'
    sound = f'<tmx version="1.4"><header/><body>{unit * 20}</body></tmx>'
    encoding = rng.choice(["UTF-8", "UTF-7", "Shift_JIS", "UTF-16", "nothing", "x" * 100])
    entity = (
        '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY x SYSTEM "../outside/secret.txt">]>'
    )
    deep = "<seg>" * rng.choice([50, 100_000])
    return rng.choice(
        [
            f'<?xml version="1.0" encoding="{encoding}"?>{sound}',
            entity + sound.replace("le chat", rng.choice(["&b;", "&x;"])),
            sound.replace("<seg>", deep, 1),
            sound[: rng.randrange(len(sound))],
            sound.replace("le chat", draw.text(rng)),
            sound.replace('"fr"', json.dumps(draw.text(rng)[:50])),
        ]
    )

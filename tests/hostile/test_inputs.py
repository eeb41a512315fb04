"""Odd and endless inputs, by name: each is answered or refused in one line, within its memory, and other lines are answered."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hostile.verbs import ENGLISH, FRENCH, Command, Materials, Server, problems

MEMORY = 1 << 30  # bytes beyond the imports
PARALLEL = ("--src", "a.fr", "--tgt", "a.en")
TRAIN = ("--out", "out", "--set", "train.max_steps=2", "--set", "model.layers=1", "--set", "text.vocabulary=300")
TRANSLATE = ("translate", "translator", "--max-length", "3")
MARKS = "\u0301\u0323".encode() * 160_000


@dataclass(frozen=True)
class Case:
    """Files, a command over them, and how it must end."""

    write: Callable[[Path], object]
    command: Command
    code: int
    says: str
    """Part of standard error, or of standard output if the exit code is 0."""
    answered: int | None = None
    """Lines of standard output."""


def lines(odd: bytes, name: str = "a.fr") -> Callable[[Path], object]:
    """The sound text with an odd line in its fifth place."""
    rows = [line.encode() for line in (FRENCH if name == "a.fr" else ENGLISH) * 6]
    rows[4] = odd
    return lambda home: (home / name).write_bytes(b"".join(row + b"\n" for row in rows))


def translate(odd: bytes, says: str, code: int = 0) -> Case:
    """A line of standard input among others."""
    given = b"le chat dort\n" + odd + b"\nil parle\n"
    return Case(lambda home: None, Command(TRANSLATE, stdin=given, memory=MEMORY), code, says, answered=3)


def check(write: Callable[[Path], object], says: str, code: int = 0, files: tuple[str, ...] = PARALLEL) -> Case:
    return Case(write, Command(("data", "check", *files), memory=MEMORY, escaped_output=True), code, says)


def pairs(name: str, content: bytes | str, says: str, code: int = 2) -> Case:
    """A file of both sides."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    files = ("--pairs", name, "--src-lang", "fr", "--tgt-lang", "en")
    return check(lambda home: (home / name).write_bytes(raw), says, code, files)


def device(home: Path, name: str = "a.fr", target: str = "/dev/zero") -> None:
    (home / name).unlink()
    (home / name).symlink_to(target)


def pipe(home: Path) -> None:
    (home / "a.fr").unlink()
    os.mkfifo(home / "a.fr")


def nothing_for_8_gigabytes(home: Path) -> None:
    with (home / "a.fr").open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.truncate(1 << 33)


def bomb(content: bytes) -> Callable[[Path], object]:
    def write(home: Path) -> None:
        with gzip.open(home / "b.gz", "wb", compresslevel=1) as file:
            file.write(b"le chat dort\n")
            for _ in range(24):
                file.write(content * ((1 << 20) // len(content)))

    return write


UNIT = '<tu><tuv xml:lang="fr"><seg>le chat</seg></tuv><tuv xml:lang="en"><seg>the cat</seg></tuv></tu>'
TMX = f"<tmx><body>{UNIT * 20}</body></tmx>"
RECORD = {"translation": {"fr": "le chat", "en": "the cat"}}
JSONL = "".join(json.dumps(RECORD) + "\n" for _ in range(5))
HALVES = "".join(json.dumps({"source": f"le \ud800 {n}", "target": f"the \udfff {n}"}) + "\n" for n in range(20))
ENTITIES = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
GZ = ("--src", "b.gz", "--tgt", "b.gz")

CASES: dict[str, Case] = {
    "nul bytes to translate": translate(b"le\x00 chat\x00", ""),
    "a line of nul bytes to translate": translate(b"\x00" * 100_000, ""),
    "a byte-order mark inside": translate("\ufeffle chat".encode(), ""),
    "utf-16 to translate": translate("le chat".encode("utf-16"), "stdin:2: not UTF-8", 2),
    "a lone surrogate to translate": translate(b"le chat \xed\xa0\x80", "stdin:2: not UTF-8", 2),
    "combining marks to translate": translate(b"e" + MARKS, "line 2 is longer than 1024 tokens"),
    "a giant line to translate": translate(b"chat " * (10 << 20), "line 2 is longer than 1,048,576 bytes"),
    "a giant line of bytes that are no text": translate(b"\xff" * (5 << 20), "stdin:2: not UTF-8", 2),
    "a giant line to classify": Case(
        lambda home: None,
        Command(("classify", "classifier"), stdin=b"le chat\n" + b"a " * (10 << 20) + b"\nil\n", memory=MEMORY),
        0,
        "line 2 is longer than 1,048,576 bytes",
        answered=3,
    ),
    "a giant prompt": Case(
        lambda home: None,
        Command(("generate", "writer", "-", "--max-length", "2"), stdin=b"the cat " * (1 << 20), memory=MEMORY),
        0,
        "",
    ),
    "a bomb to translate": Case(
        bomb(b"\x00"), Command((*TRANSLATE, "-i", "b.gz"), memory=MEMORY), 2, "100 times its size", answered=1
    ),
    "a device to translate": Case(
        lambda home: None, Command((*TRANSLATE, "-i", "/dev/zero"), memory=MEMORY), 2, "a character device"
    ),
    "a closed standard input": Case(lambda home: None, Command(TRANSLATE, stdin=None), 2, "stdin: closed"),
    "nul bytes in a corpus": check(lines(b"le\x00 chat"), "training will accept it"),
    "a corpus in utf-16": check(
        lambda home: (home / "a.fr").write_bytes("le chat\n".encode("utf-16") * 36), "a.fr", code=2
    ),
    "a corpus of marks": check(lines(b"e" + MARKS), "over-long"),
    "a corpus with a line of 16 megabytes": check(lines(b"a" * (17 << 20)), "a.fr:5: a line of more than", 2),
    "a corpus of nothing, 8 gigabytes long": check(nothing_for_8_gigabytes, "a.fr:37: a line of more than", 2),
    "a corpus that is a device": check(device, "a.fr: a character device", 2),
    "a corpus that is random": check(lambda home: device(home, target="/dev/urandom"), "a.fr: a character device", 2),
    "a corpus that is a pipe without a writer": check(pipe, "a.fr: a pipe that nobody writes to", 2),
    "a corpus that is a bomb of lines": check(
        bomb(b"le chat " * 8000 + b"\n"), "b.gz: unpacks to more than 100 times", 2, GZ
    ),
    "a corpus that is a bomb of one line": check(bomb(b"\x00"), "b.gz", 2, GZ),
    "a corpus that is half a gzip file": check(
        lambda home: (home / "b.gz").write_bytes(gzip.compress(os.urandom(9999))[:5000]), "b.gz: damaged gzip", 2, GZ
    ),
    "a lone surrogate in jsonl": pairs(
        "b.jsonl", JSONL.replace("chat", "\\ud800", 1), "half surrogates     1 (line 1)", 0
    ),
    "jsonl that nests": pairs("b.jsonl", JSONL + '{"translation": ' * 100_000, "not a pair          1 (line 6)"),
    "jsonl with many digits": pairs("b.jsonl", JSONL + "9" * 5_000, "not a pair          1 (line 6)"),
    "tmx with entities": pairs("b.tmx", ENTITIES + TMX.replace("le chat", "&b;"), "declares the XML entity 'a'"),
    "tmx that nests": pairs("b.tmx", TMX.replace("<seg>", "<seg>" * 100_000, 1), "b.tmx:1: elements nest"),
    "tmx with a giant segment": pairs("b.tmx", TMX.replace("<seg>", "<seg>" + "a" * (17 << 20), 1), "b.tmx:1: a unit"),
    "tmx with a giant tag": pairs("b.tmx", TMX.replace("<seg>", f"<!--{'a' * (2 << 20)}--><seg>", 1), "b.tmx:1: a tag"),
    "tmx in utf-7": pairs("b.tmx", f'<?xml version="1.0" encoding="UTF-7"?>{TMX}', "encoding 'UTF-7'"),
    "tmx in shift-jis": pairs("b.tmx", f'<?xml version="1.0" encoding="Shift_JIS"?>{TMX}', "encoding 'Shift_JIS'"),
    "training on a device": Case(
        lambda home: None,
        Command(("train", "--src", "/dev/zero", "--tgt", "/dev/zero", *TRAIN), memory=MEMORY),
        2,
        "/dev/zero: a character device",
    ),
    "training on nothing, 8 gigabytes long": Case(
        nothing_for_8_gigabytes, Command(("train", *PARALLEL, *TRAIN), memory=MEMORY), 2, "a.fr:37: a line of more than"
    ),
    "training on jsonl with lone surrogates": Case(
        lambda home: (home / "b.jsonl").write_text(HALVES, encoding="utf-8"),
        Command(
            (
                "train",
                "--pairs",
                "b.jsonl",
                "--src-lang",
                "fr",
                "--tgt-lang",
                "en",
                *TRAIN,
                "--set",
                "train.validate_every=1",
            )
        ),
        0,
        "b.jsonl:1: half of a surrogate pair, which is no character; it is read as U+FFFD",
    ),
    "training on a file that changes while it is read": Case(
        lambda home: None,
        Command(
            ("train", *PARALLEL, *TRAIN),
            memory=MEMORY,
            fault=("append_in", "regard.data.prepare:learn_pair", "a.fr", "un chat de plus"),
        ),
        2,
        "changed while it was read",
    ),
}
CASES |= {
    f"{option} {value}": Case(
        lambda home: None,
        Command((*TRANSLATE[:2], option, value, *more), stdin=b"le chat\n", memory=MEMORY),
        2,
        f"{option.removeprefix('--').replace('-', '_')} = {value}: must be ",
    )
    for option, value, *more in (
        ("--beam", "1000000"),
        ("--mbr", "1000000"),
        ("--min-length", "50000"),
        ("--groups", "100000"),
        ("--max-length", "1000000000"),
        ("--nbest", "1000000", "--sample"),
        ("--node-limit", "1000000000", "--exact"),
        ("--temperature", "1e-300", "--sample"),
        ("--time-limit", "1e+300"),
    )
}


@pytest.mark.parametrize("name", CASES)
def test_an_odd_input_is_answered_or_refused(name: str, server: Server, materials: Materials, tmp_path: Path) -> None:
    case = CASES[name]
    for path in materials.home.glob("a.*"):
        shutil.copy(path, tmp_path)
    for run in ("translator", "writer", "classifier"):
        (tmp_path / run).symlink_to(materials.home / run)
    case.write(tmp_path)
    outcome = server.run(case.command, tmp_path)
    assert problems(case.command, outcome) == [], outcome.err[-2000:]
    assert outcome.code == case.code, outcome.err[-2000:]
    assert case.says in outcome.err + outcome.out
    if case.answered is not None:
        assert outcome.out.count("\n") == case.answered
    cache = tmp_path / ".cache/regard/corpora"
    if case.code:
        assert not cache.exists() or list(cache.iterdir()) == []  # nothing of a corpus that was refused


def test_the_widest_search_that_is_allowed_fits(server: Server, materials: Materials) -> None:
    """Both bounds at once, in the memory of a small machine."""
    wide = Command(
        ("translate", "translator", "--beam", "1000", "--nbest", "2", "--engine", "torch", "--time-limit", "1"),
        stdin=b"le chat dort\n" * 3 + b"chat " * 5_000 + b"\n",
        seconds=120,
    )
    outcome = server.run(wide, materials.home)
    assert problems(wide, outcome) == []
    assert outcome.code == 0
    assert len([line for line in outcome.out.splitlines() if line.startswith("3 ||| ")]) > 0


def test_an_exact_search_ends_by_its_time_limit(server: Server, materials: Materials) -> None:
    slow = Command(
        ("translate", "translator", "--exact", "--node-limit", "100000", "--time-limit", "0.2", "--json"),
        stdin=b"le chat noir mange une pomme rouge et parle\n" * 2,
    )
    outcome = server.run(slow, materials.home)
    assert problems(slow, outcome) == []
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(records) == 2
    for number, record in enumerate(records, 1):
        assert record.get("timed_out", False) == (f"line {number}: --time-limit 0.2 ended its search" in outcome.err)
        assert not (record.get("timed_out") and record["proof"]["proved"])

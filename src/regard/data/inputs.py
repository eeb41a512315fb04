"""The texts that a `DataConfig` names, opened as often as they are needed: files, or the pocket corpus.

Both are streams of pairs here, with a fingerprint of their content, so that what follows need not tell them apart.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from regard.data.config import DataConfig, languages
from regard.data.readers import Pair, opened, pair_format, read_pairs, shown
from regard.errors import DataError

Links = frozenset[tuple[int, int]]
INPUT_ROLES = ("src", "tgt", "pairs", "valid_src", "valid_tgt", "valid_pairs")


@dataclass(frozen=True)
class Inputs:
    """Where the pairs of a run come from."""

    name: str  # of the training text, for messages
    valid_name: str
    training: Callable[[], Iterator[Pair]]
    validation: Callable[[], Iterator[Pair]] | None  # None: hold some of the training pairs out
    fingerprint: dict[str, str]  # role of each text -> hash of its content
    test_pairs: list[Pair] | None
    valid_alignments: Sequence[Links] | None = None
    test_alignments: Sequence[Links] | None = None


def open_inputs(data: DataConfig) -> Inputs:
    """The inputs of a run whose files are all seekable; every missing file is complained of here, before any work."""
    return _pocket(data) if data.src is None and data.pairs is None else _files(data)


def _files(data: DataConfig) -> Inputs:
    spoken = languages(data)
    paths = {role: path for role in INPUT_ROLES if (path := getattr(data, role)) is not None}
    with ThreadPoolExecutor() as threads:
        fingerprint = dict(zip(paths, threads.map(digest_of, paths.values()), strict=True))
    for role in paths.keys() & {"pairs", "valid_pairs"}:
        fingerprint[f"{role}.format"] = pair_format(paths[role])
    tests = None
    if data.test_src is not None:
        tests = list(read_pairs(data.test_src, data.test_tgt))
        if not tests:
            raise DataError(f"{data.test_src}: no sentences to test on; give a file that has some, or none")
    name = _named(data.src, data.tgt, data.pairs)
    has_validation = data.valid_src is not None or data.valid_pairs is not None
    valid_name = _named(data.valid_src, data.valid_tgt, data.valid_pairs) if has_validation else f"{name} (held out)"
    return Inputs(
        name=name,
        valid_name=valid_name,
        training=lambda: read_pairs(data.src, data.tgt, data.pairs, spoken),
        validation=(lambda: read_pairs(data.valid_src, data.valid_tgt, data.valid_pairs, spoken))
        if has_validation
        else None,
        fingerprint=fingerprint,
        test_pairs=tests,
    )


def _pocket(data: DataConfig) -> Inputs:
    # the generator's word lists are read only by who needs them
    from regard.data.pocket.corpus import TEST, VALID, pocket_split

    most = data.pocket  # a small corpus is judged by no more than it is learned from
    split = pocket_split(train=most, valid=min(VALID, most), test=min(TEST, most), seed=data.seed)
    train, valid, test = (
        [(pair.french, pair.english) for pair in part] for part in (split.train, split.valid, split.test)
    )
    return Inputs(
        name="the pocket corpus",
        valid_name="the pocket corpus's validation part",
        training=lambda: iter(train),
        validation=lambda: iter(valid),
        # By its text, not by its settings: a generator that was changed since is another corpus.
        fingerprint={"pocket": _digest_of_pairs(train), "pocket.valid": _digest_of_pairs(valid)},
        test_pairs=test,
        valid_alignments=[pair.alignment for pair in split.valid],
        test_alignments=[pair.alignment for pair in split.test],
    )


def digest_of(path: str | Path) -> str:
    """The SHA-256 of a file's text; of the unpacked text for .gz, which carries the time of its packing."""
    digest = hashlib.sha256()
    with opened(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _digest_of_pairs(pairs: Iterable[Pair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()


def _named(source: str | None, target: str | None, pairs: str | None) -> str:
    return shown(pairs) if pairs is not None else f"{shown(source or '')} and {shown(target or '')}"

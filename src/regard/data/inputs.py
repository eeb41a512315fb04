"""The inputs of a translation run: files or the pocket corpus, both as streams of pairs with a fingerprint."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from regard.data.alignments import read_links
from regard.data.config import PairData, languages
from regard.data.corpus_config import Direction
from regard.data.directed_inputs import (
    TrainingCorpus,
    in_direction,
    read_tests,
    test_corpora,
    training_corpora,
    validation_corpora,
)
from regard.data.formats import pair_format
from regard.data.readers import Pair, display_name, open_bytes, read_pairs
from regard.errors import DataError
from regard.metrics.alignment import Links, to_pharaoh

CORPUS_ROLES = ("src", "tgt", "pairs")
VALID_ROLES = ("valid_src", "valid_tgt", "valid_pairs")
DIRECTED_ROLES = (*CORPUS_ROLES, *VALID_ROLES)
INPUT_ROLES = (*CORPUS_ROLES, *VALID_ROLES, "alignments")


@dataclass(frozen=True)
class Inputs:
    """The training, validation and test pairs of a run. Streams can be opened more than once.

    A file that is read to its end must have the content of its fingerprint then.
    """

    corpora: tuple[TrainingCorpus, ...]
    valid_name: str
    validation: Callable[[], Iterator[Pair]] | None  # None: hold out training pairs
    fingerprint: dict[str, str]  # role of each text -> hash of its content
    test_pairs: list[Pair] | None
    valid_alignments: Sequence[Links] | None = None
    test_alignments: Sequence[Links] | None = None
    alignments: Callable[[], Iterator[Links]] | None = None  # of the training pairs, if set in the config
    valid_corpora: tuple[TrainingCorpus, ...] = ()
    """The validation text of each of several directions; empty where pairs are held out, or where there is one direction."""
    test_directions: list[Direction] | None = None
    """The direction of each test pair, where a run has several."""

    @property
    def several(self) -> bool:
        """Whether there are several directions."""
        return self.corpora[0].direction is not None

    @property
    def name(self) -> str:
        """The name of the training text, for messages."""
        return joined_names(corpus.name for corpus in self.corpora)

    def training(self) -> Iterator[Pair]:
        """The pairs of all training corpora, one after the other."""
        return chain_pairs(self.corpora)

    def new(self) -> Iterator[Pair]:
        """The same without replayed text, which comes last: what may be held out for validation."""
        return chain_pairs(corpus for corpus in self.corpora if corpus.share is None)


def joined_names(names: Iterable[str]) -> str:
    """The names of several corpora in one line."""
    return ", ".join(names)


def chain_pairs(corpora: Iterable[TrainingCorpus]) -> Iterator[Pair]:
    """The pairs of several corpora, one after the other."""
    return chain.from_iterable(corpus.pairs() for corpus in corpora)


def open_inputs(data: PairData) -> Inputs:
    """Open the inputs of a run; all files must be seekable. A missing file is a `DataError` here, before any work."""
    return _files(data) if data.training_corpora else _pocket(data)


def _files(data: PairData) -> Inputs:
    language_pair = languages(data)
    paths = {role: path for role in INPUT_ROLES if (path := getattr(data, role)) is not None}
    for number, row in enumerate(data.corpora):
        roles = {role: path for role in DIRECTED_ROLES if (path := getattr(row, role)) is not None}
        paths |= {f"corpora.{number}.{role}": path for role, path in roles.items()}
    replay = data.replay if data.replay is not None and data.replay.trains else None
    if replay is not None:
        paths |= {f"replay.{role}": path for role in CORPUS_ROLES if (path := getattr(replay, role)) is not None}
    with ThreadPoolExecutor() as threads:
        fingerprint = dict(zip(paths, threads.map(digest_of, paths.values()), strict=True))
    digests = {path: fingerprint[role] for role, path in paths.items()}
    for role in (role for role in paths if role.endswith("pairs")):
        fingerprint[f"{role}.format"] = pair_format(paths[role])
    tests, test_directions = read_tests(test_corpora(data)) or (None, None)
    if data.test_src is not None and tests is None:
        tests = list(read_pairs(data.test_src, data.test_tgt))
        if not tests:
            raise DataError(f"{data.test_src}: no sentences to test on; give a file that has some, or none")
    corpora = training_corpora(data, language_pair, digests)
    valid_corpora = validation_corpora(data, digests)
    has_validation = data.valid_src is not None or data.valid_pairs is not None
    held_out = f"{joined_names(corpus.name for corpus in corpora)} (held out)"
    links = data.alignments
    if corpora[0].direction is not None:
        return Inputs(
            corpora=corpora,
            valid_name=joined_names(corpus.name for corpus in valid_corpora) or held_out,
            validation=(lambda: chain_pairs(valid_corpora)) if valid_corpora else None,
            fingerprint=fingerprint,
            test_pairs=tests,
            valid_corpora=valid_corpora,
            test_directions=test_directions,
        )
    return Inputs(
        corpora=corpora,
        valid_name=_named(data.valid_src, data.valid_tgt, data.valid_pairs) if has_validation else held_out,
        validation=(lambda: read_pairs(data.valid_src, data.valid_tgt, data.valid_pairs, language_pair, digests))
        if has_validation
        else None,
        fingerprint=fingerprint,
        test_pairs=tests,
        alignments=None
        if links is None
        else lambda: (sure for sure, _ in read_links(links, chain_pairs(corpora), digests[links])),
    )


def _pocket(data: PairData) -> Inputs:
    # imported here, since it reads large word lists
    from regard.data.pocket.corpus import TEST, VALID, pocket_split

    size = data.pocket  # validation and test set are no larger than the training set
    split = pocket_split(train=size, valid=min(VALID, size), test=min(TEST, size), seed=data.seed)
    train, valid, test = (
        [(pair.french, pair.english) for pair in part] for part in (split.train, split.valid, split.test)
    )
    # Of the text, not of the settings: a changed generator makes another corpus.
    fingerprint = {"pocket": _digest_of(train), "pocket.valid": _digest_of(valid)}
    if data.alignments is not None:
        fingerprint["pocket.alignments"] = _digest_of([to_pharaoh(pair.alignment)] for pair in split.train)
    if data.both:
        return _pocket_in_both(data, train, valid, test, fingerprint)
    return Inputs(
        corpora=(TrainingCorpus("the pocket corpus", lambda: iter(train)),),
        valid_name="the pocket corpus's validation part",
        validation=lambda: iter(valid),
        fingerprint=fingerprint,
        test_pairs=test,
        valid_alignments=[pair.alignment for pair in split.valid],
        test_alignments=[pair.alignment for pair in split.test],
        alignments=None if data.alignments is None else lambda: (pair.alignment for pair in split.train),
    )


def _pocket_in_both(
    data: PairData, train: list[Pair], valid: list[Pair], test: list[Pair], fingerprint: dict[str, str]
) -> Inputs:
    """The pocket corpus from French to English and back."""
    parts = [
        tuple(
            in_direction(f"the pocket corpus{part}", pairs, one.direction, swapped=one.swapped) for one in data.directed
        )
        for part, pairs in (("", train), ("'s validation part", valid), ("'s test part", test))
    ]
    tests = read_tests(parts[2])
    assert tests is not None
    return Inputs(
        corpora=parts[0],
        valid_name="the pocket corpus's validation part",
        validation=lambda: chain_pairs(parts[1]),
        fingerprint=fingerprint,
        test_pairs=tests[0],
        valid_corpora=parts[1],
        test_directions=tests[1],
    )


def digest_of(path: str | Path) -> str:
    """The SHA-256 of a file's content; of the unpacked content for .gz, whose header holds a time."""
    digest = hashlib.sha256()
    with open_bytes(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _digest_of(rows: Iterable[Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update("\t".join(row).encode() + b"\n")
    return digest.hexdigest()


def _named(source: str | None, target: str | None, pairs: str | None) -> str:
    return (
        display_name(pairs) if pairs is not None else f"{display_name(source or '')} and {display_name(target or '')}"
    )

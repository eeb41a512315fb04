"""Cleans a corpus of pairs: `regard data clean`. It reads a sample, then all pairs once in blocks, each of which is judged by itself.

In memory are one block, a sample, and the hashes of the pairs that reached the filters of duplicates.
The filters of one pair are in `data.filters`.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.activity import activity
from regard.data.clean_files import CleanFiles, clean_files
from regard.data.config import STDIN
from regard.data.convert import blocks_of, corpus_languages
from regard.data.damage import is_moses_escaped
from regard.data.filters import FILTERS, CleanSettings, Reason, Sampled, pair_filters
from regard.data.formats import FileFormat, LanguagePair, PairFiles
from regard.data.inputs import digest_of
from regard.data.language import SideLanguage
from regard.data.lenient import decoded, pairs_or_faults, raw_sides
from regard.data.readers import Pair, without_breaks, without_surrogates
from regard.data.seen import SeenHashes, pair_hash, similar_hash
from regard.data.suspects import Flags, PairScorer, find_suspects, similar_texts
from regard.data.writers import check_languages
from regard.errors import ConfigError, DataError, DiskError

BLOCK = 2_000
"""Pairs that are judged at once. A model compares a pair with others of its block."""
SAMPLE = 50_000
"""Pairs at the beginning of the corpus that tell its languages and its ratio of lengths."""
COMMIT_SECONDS = 5.0
_MOSES_SHARE = 0.01

Line = tuple[int, Pair, str | None]
"""Number of a line, its texts without spaces around them, and why it is no pair."""


@dataclass(frozen=True)
class Cleaned:
    """The counts of a cleaning."""

    pairs: int
    kept: int
    dropped: dict[str, int]
    """Filter -> pairs, for every filter that was asked."""
    languages: LanguagePair
    """Of both sides, as they were found; None: not to be told, so the filter `language` was not asked."""
    altered: int
    """Sentences that the format cannot hold as they were."""
    resumed: int
    """Pairs that an earlier command had judged."""
    settings: CleanSettings

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "pairs": self.pairs,
            "kept": self.kept,
            "dropped": self.dropped,
            "languages": list(self.languages),
            "altered": self.altered,
            "settings": self.settings.model_dump(mode="json"),
        }


def clean_corpus(
    source: PairFiles,
    out: Path | None,
    kind: FileFormat | None = None,
    languages: LanguagePair = (None, None),
    settings: CleanSettings | None = None,
    model: PairScorer | None = None,
    model_name: str | None = None,
) -> Cleaned:
    """Write the pairs that no filter drops to the new directory `out`, and the others to its dropped.tsv. out: None writes nothing.

    kind: the format of the kept pairs, by default that of `source`. An interrupted call goes on where it was.
    """
    settings = settings or CleanSettings()
    languages = corpus_languages(source, None, languages)
    kind = kind or source.kind
    if STDIN in source.paths:
        raise ConfigError("standard input is read once, and a corpus to clean twice; give a file")
    if out is not None and (out.exists() or out.is_symlink()):
        raise DiskError(f"{out}: it is there already; choose another place, or delete it")
    check_languages(str(out or source.name), kind, languages)
    with activity("reading the corpus"):
        digests = {path: digest_of(path) for path in source.paths}
        if next(_lines(source, languages), None) is None:
            raise DataError(f"{source.name}: no pairs; give a corpus that has some")
        judge = Judge(
            lambda: _lines(source, languages), languages, settings, model, source.kind not in ("moses", "tsv")
        )
    asked = {
        "input": list(digests.values()),
        **settings.model_dump(mode="json"),
        "model": model_name,
        "languages": list(languages),
        "kind": kind,
    }
    with ExitStack() as stack:
        files = None if out is None else stack.enter_context(clean_files(out, kind, languages, asked))
        done = _clean(source, languages, judge, files)
        for path, digest in digests.items():
            if digest_of(path) != digest:
                raise DataError(f"{path}: its content has changed while it was read; run the same command again")
        if files is not None:
            files.convert()
            done = replace(done, altered=files.altered)
            files.finish(done.to_dict())
    return done


def _clean(source: PairFiles, languages: LanguagePair, judge: "Judge", files: CleanFiles | None) -> Cleaned:
    counts: Counter[str] = Counter()
    number = first = 0
    if files is not None:
        number = first = files.pairs
        counts.update(files.counts)
        for hashes in files.seen():
            judge.remember(hashes)
    committed = time.monotonic()
    with activity("cleaning", unit="pairs") as progress:
        progress.advance(first)
        for block in blocks_of(islice(_lines(source, languages), first, None), BLOCK):
            reasons, hashes = judge(block, number)
            dropped = [
                (line, why, pair) for (line, pair, _), why in zip(block, reasons, strict=True) if why is not None
            ]
            counts.update(name for _, (name, _), _ in dropped)
            number += len(block)
            if files is not None:
                files.write(
                    [pair for (_, pair, _), why in zip(block, reasons, strict=True) if why is None], dropped, hashes
                )
                if time.monotonic() - committed > COMMIT_SECONDS:
                    files.commit(number)
                    committed = time.monotonic()
            progress.advance(len(block))
    if files is not None:
        files.commit(number)
    return Cleaned(
        pairs=number,
        kept=number - counts.total(),
        dropped={name: counts[name] for name in judge.asked},
        languages=judge.languages,
        altered=0 if files is None else files.altered,
        resumed=first,
        settings=judge.settings,
    )


class Judge:
    """Says of each pair of a block which filter drops it, if any."""

    def __init__(
        self,
        lines: Callable[[], Iterator[Line]],
        languages: LanguagePair,
        settings: CleanSettings,
        model: PairScorer | None,
        holds_breaks: bool = False,
    ) -> None:
        """holds_breaks: the format of the corpus has sentences with line breaks, which are no damage."""
        self.settings = settings
        self._holds_breaks = holds_breaks
        self._model = model
        sample = [pair for _, pair, fault in islice(lines(), SAMPLE) if fault is None and pair[0] and pair[1]]
        self._filters = pair_filters(settings, _sampled(sample))
        sides = [SideLanguage([pair[side] for pair in sample], languages[side]) for side in (0, 1)]
        self.languages = sides[0].name, sides[1].name
        self._sides = [] if "language" in settings.without else [side for side in sides if side.name is not None]
        self._places = [place for place, side in enumerate(sides) if side.name is not None]
        self._exact, self._similar = SeenHashes(), SeenHashes()
        self._suspects = _misaligned(lines) if settings.misaligned and "misaligned" not in settings.without else None
        unasked = {*settings.without}
        unasked |= set() if self._sides else {"language"}
        unasked |= set() if self._suspects is not None else {"misaligned"}
        unasked |= set() if model is not None else {"model"}
        self.asked = [name for name in FILTERS if name not in unasked or name == "empty"]

    def remember(self, hashes: "np.ndarray[Any, np.dtype[np.uint64]]") -> None:
        """Take pairs for seen that an earlier command has asked about."""
        self._exact.add(hashes[:, 0])
        self._similar.add(hashes[:, 1])

    def __call__(
        self, block: Sequence[Line], first: int
    ) -> tuple[list[Reason | None], "np.ndarray[Any, np.dtype[np.uint64]]"]:
        """The reason to drop each pair, or None; and [N, 2] the hashes of those that reached the filters of duplicates. A pair that
        is dropped later, as misaligned or by the model, counts as seen: the same pair is not judged again.

        first: how many lines are before the block.
        """
        if self._holds_breaks:
            block = [(line, without_breaks(pair), fault) for line, pair, fault in block]
        reasons = [self._by_itself(line) for line in block]
        self._by_language(block, reasons)
        hashes = self._by_hash(block, reasons)
        if self._suspects is not None:
            for place in _open(reasons):
                if self._suspects[first + place]:
                    reasons[place] = "misaligned", ""
        if self._model is not None and "model" in self.asked:
            self._by_model(block, reasons, self._model)
        return reasons, hashes

    def _by_itself(self, line: Line) -> Reason | None:
        _, (source, target), fault = line
        if fault is not None:
            return "unreadable", fault
        for name, find in self._filters:
            value = find(source, target)
            if value is not None:
                return name, value
        return None

    def _by_language(self, block: Sequence[Line], reasons: list[Reason | None]) -> None:
        for side, place in zip(self._sides, self._places, strict=False):
            rows = _open(reasons)
            for row, (name, margin) in zip(
                rows, side.other_languages([block[row][1][place] for row in rows]), strict=True
            ):
                if margin > self.settings.language_margin:
                    reasons[row] = "language", f"{('source', 'target')[place]} {name} +{margin:.1f}"

    def _by_hash(self, block: Sequence[Line], reasons: list[Reason | None]) -> "np.ndarray[Any, np.dtype[np.uint64]]":
        rows = _open(reasons)
        hashes = np.array([(pair_hash(*block[row][1]), similar_hash(*block[row][1])) for row in rows], dtype=np.uint64)
        hashes = hashes.reshape(-1, 2)
        again, similar = self._exact.add(hashes[:, 0]), self._similar.add(hashes[:, 1])
        for row, is_again, is_similar in zip(rows, again, similar, strict=True):
            if is_again and "duplicate" in self.asked:
                reasons[row] = "duplicate", ""
            elif is_similar and not is_again and "near-duplicate" in self.asked:
                reasons[row] = "near-duplicate", ""
        return hashes[~again]

    def _by_model(self, block: Sequence[Line], reasons: list[Reason | None], model: PairScorer) -> None:
        rows = _open(reasons)
        if len(rows) < 2:  # there is no other source to compare with; such a pair is kept
            return
        sources, targets = ([block[row][1][side] for row in rows] for side in (0, 1))
        gains = np.asarray(model(sources, targets)) - np.asarray(model(similar_texts(sources), targets))
        for row, gain in zip(rows, gains, strict=True):
            if gain < self.settings.gain:
                reasons[row] = "model", f"{gain:.2f}"


def _open(reasons: Sequence[Reason | None]) -> list[int]:
    """The places that no filter has dropped yet."""
    return [place for place, reason in enumerate(reasons) if reason is None]


def _sampled(sample: Sequence[Pair]) -> Sampled:
    ratios = [len(source) / len(target) for source, target in sample]
    escaped = sum(is_moses_escaped(source) or is_moses_escaped(target) for source, target in sample)
    return Sampled(float(np.median(ratios)) if ratios else 1.0, escaped > _MOSES_SHARE * len(sample))


def _misaligned(lines: Callable[[], Iterator[Line]]) -> Flags | None:
    """[N] whether each line looks misaligned or swapped; None: the statistics do not tell."""
    from regard.data.cooccurrence import MOST_WORDS

    sound, links = [], 0
    for number, (_, (source, target), fault) in enumerate(lines()):
        if fault is None and source and target:
            sound.append(number)
            links += min(MOST_WORDS, len(source.split())) * min(MOST_WORDS, len(target.split()))
    total = number + 1 if sound else 0

    def pairs() -> Iterator[Pair]:
        return (pair for _, pair, fault in lines() if fault is None and pair[0] and pair[1])

    found = find_suspects(pairs, len(sound), links)
    flags = np.zeros(total, dtype=bool)
    for part in (found.swapped, found.misaligned):
        if part is not None:
            flags[np.array(sound)[part]] = True
    return None if found.swapped is None and found.misaligned is None else flags


def _lines(files: PairFiles, languages: LanguagePair) -> Iterator[Line]:
    """The lines of the corpus. Two files of different length are refused."""
    if files.pairs is None:
        assert files.source is not None
        assert files.target is not None
        for number, raws in enumerate(raw_sides(files.source, files.target), 1):
            yield number, *_decoded_sides(raws, files, number)
        return
    for number, pair, _ in pairs_or_faults(files.pairs, languages, form=files.form, as_stored=True):
        if isinstance(pair, tuple):
            source, target = without_surrogates(pair)
            yield number, (source.strip(), target.strip()), None
        elif isinstance(pair, bytes):
            yield number, (_escaped(pair), ""), "not UTF-8"
        else:
            yield number, ("", ""), str(pair)


def _decoded_sides(raws: tuple[bytes | None, bytes | None], files: PairFiles, number: int) -> tuple[Pair, str | None]:
    texts = []
    fault = None
    for raw, path in zip(raws, files.paths, strict=True):
        if raw is None:
            raise DataError(
                f"{path}: it has {number - 1} lines, and the other side has more; line n of one must translate line n of the other"
            )
        text = decoded(raw)
        fault = "not UTF-8" if text is None else fault
        texts.append(_escaped(raw) if text is None else text.strip())
    return (texts[0], texts[1]), fault


def _escaped(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def table(done: Cleaned) -> list[str]:
    """The counts as lines for a terminal."""
    rows = [("", "pairs", "share", ""), ("read", f"{done.pairs:,}", "", "")]
    rows += [
        (name, f"{count:,}", f"{count / max(1, done.pairs):.2%}", FILTERS[name]) for name, count in done.dropped.items()
    ]
    rows.append(("kept", f"{done.kept:,}", f"{done.kept / max(1, done.pairs):.2%}", ""))
    return [f"{name:16}{pairs:>12}{share:>9}  {what}".rstrip() for name, pairs, share, what in rows]

"""What `regard data clean` writes: OUT.partial while it works, and OUT when all is done.

state.json states how many pairs are judged and how long each file is; it is written after the files have reached the disk. A command that
goes on cuts off what a killed one wrote beyond it, so that the result is the same to the last byte.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydantic import NonNegativeInt

from regard.cache import try_lock
from regard.data.filters import Reason
from regard.data.formats import FileFormat, LanguagePair, PairFiles
from regard.data.readers import Pair
from regard.data.writers import JsonlText, MosesText, PairWriter, TsvText
from regard.errors import ConfigError, DataError, DiskError, FileError, shown
from regard.files import STAGING_MARK, disk_errors, sync, to_json, write_whole
from regard.foreign import parse_json, read_text, refuse_exhausted
from regard.settings import Record

FORMAT = 1
STATE, HASHES, DROPPED, SUMMARY = "state.json", "hashes.bin", "dropped.tsv", "summary.json"
COLUMNS = ("line", "filter", "value", "source", "target")
_KEPT = "kept.jsonl"  # the pairs for a format that is not appended to
_WHOLE = 1 << 30


class State(Record):
    """state.json."""

    settings: dict[str, Any]
    pairs: NonNegativeInt
    counts: dict[str, NonNegativeInt]
    altered: NonNegativeInt
    sizes: dict[str, NonNegativeInt]


class CleanFiles:
    """The files of one cleaning, which may go on where another one stopped. Use `clean_files` to make them."""

    def __init__(self, out: Path, kind: FileFormat, languages: LanguagePair, settings: Mapping[str, Any]) -> None:
        self.out = out
        self.partial = out.with_name(f"{out.name}.partial")
        self.pairs = 0
        """Pairs that are judged."""
        self.counts: dict[str, int] = {}
        """How many pairs each filter has dropped."""
        self._kind, self._languages = kind, languages
        self._settings = {"format": FORMAT, **settings}
        self._files: dict[str, BinaryIO] = {}
        self._altered_before = 0
        self._ours = False  # whether the directory is one of this command

    @property
    def altered(self) -> int:
        """The sentences that the format cannot hold as they are."""
        return self._altered_before + self._writer.altered

    def begin(self, stack: ExitStack) -> None:
        """Open the files, locked, and cut off what is beyond the last state."""
        with disk_errors(self.out):
            self.partial.mkdir(parents=True, exist_ok=True)
            handle = try_lock(self.partial, lambda path: os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            if handle is None:
                raise DiskError(f"{self.partial}: another process is writing it; wait for it, or choose another place")
            stack.callback(os.close, handle)
            state = self._read_state()
            if state is None:
                self._refuse_strangers()
                self._write_state(0, {})
            self._ours = True
            for name in (*self._kept_names(), DROPPED, HASHES):
                file = stack.enter_context((self.partial / name).open("ab", buffering=1 << 20))
                file.truncate(state.sizes.get(name, 0) if state else 0)
                file.seek(0, os.SEEK_END)
                self._files[name] = file
        started = state is not None and any(state.sizes.get(name) for name in self._kept_names())
        self._writer = self._text_writer(started)
        if state is None or not state.sizes:  # killed before anything was judged
            self._files[DROPPED].write(("\t".join(COLUMNS) + "\n").encode())
        else:
            self.pairs, self.counts, self._altered_before = state.pairs, dict(state.counts), state.altered

    def _kept_names(self) -> list[str]:
        if self._kind == "moses":
            sides = "src", "tgt"
            names = [f"clean.{language or side}" for language, side in zip(self._languages, sides, strict=True)]
            apart = len({name.casefold() for name in names}) == len(names)
            return names if apart else [f"clean.{side}" for side in sides]
        return [f"clean.{self._kind}" if self._kind in ("tsv", "jsonl") else _KEPT]

    def _refuse_strangers(self) -> None:
        """Refuse a directory that no cleaning has made."""
        names = sorted(path.name for path in self.partial.iterdir())
        others = [name for name in names if not name.startswith(f"{STATE}{STAGING_MARK}")]
        if others:
            raise DiskError(
                f"{self.partial}: holds {shown(others[0], 60)}, and no {STATE} of a cleaning; "
                "choose another place, or move it away"
            )

    def _text_writer(self, started: bool) -> PairWriter:
        files = [self._files[name] for name in self._kept_names()]
        if self._kind == "moses":
            return MosesText(files[0], files[1], started)
        return TsvText(files[0], started) if self._kind == "tsv" else JsonlText(files[0], self._languages)

    def _read_state(self) -> State | None:
        path = self.partial / STATE
        if not path.exists():
            return None
        try:
            state = State.parse(parse_json(read_text(path), path), str(path))
            sizes = {name: (self.partial / name).stat().st_size for name in state.sizes}
            sound = all(state.sizes[name] <= size for name, size in sizes.items())
        except OSError as error:
            refuse_exhausted(path, error)
            sound = False
        except (UnicodeDecodeError, FileError, ConfigError):
            sound = False
        if not sound:
            raise DataError(f"{path}: damaged; delete {self.partial} to start anew")
        changed = [
            f"{key} {shown(state.settings.get(key), 60)} -> {shown(self._settings.get(key), 60)}"
            for key in sorted(state.settings.keys() | self._settings.keys())
            if state.settings.get(key) != self._settings.get(key)
        ]
        if changed:
            raise ConfigError(
                f"{self.partial}: begun with another input or other settings ({'; '.join(changed)}); "
                "give the same ones to go on, or delete it to start anew"
            )
        return state

    def seen(self) -> Iterator["np.ndarray[Any, np.dtype[np.uint64]]"]:
        """The hashes that were stored so far, as [N, 2]."""
        with (self.partial / HASHES).open("rb") as file:
            while block := file.read(1 << 20):
                yield np.frombuffer(block, dtype="<u8").reshape(-1, 2)

    def write(
        self,
        kept: Sequence[Pair],
        dropped: Sequence[tuple[int, Reason, Pair]],
        hashes: "np.ndarray[Any, np.dtype[np.uint64]]",
    ) -> None:
        """Append the outcome of a block."""
        with disk_errors(self.out):
            if kept:
                self._writer.write([source for source, _ in kept], [target for _, target in kept])
            rows = (
                f"{line}\t{name}\t{_cell(value)}\t{_cell(left)}\t{_cell(right)}\n"
                for line, (name, value), (left, right) in dropped
            )
            self._files[DROPPED].write("".join(rows).encode("utf-8", "backslashreplace"))
            self._files[HASHES].write(hashes.astype("<u8").tobytes())
        for _, (name, _), _ in dropped:
            self.counts[name] = self.counts.get(name, 0) + 1

    def commit(self, pairs: int) -> None:
        """State that so many pairs are judged, when their outcome has reached the disk."""
        with disk_errors(self.out):
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
            sizes = {name: file.tell() for name, file in self._files.items()}
            self.pairs = pairs
            self._write_state(self.altered, sizes)

    def _write_state(self, altered: int, sizes: Mapping[str, int]) -> None:
        state = State(settings=self._settings, pairs=self.pairs, counts=self.counts, altered=altered, sizes=dict(sizes))
        write_whole(self.partial / STATE, to_json(state.model_dump()))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary and give the directory its name, and then remove what only a continuation needs."""
        with disk_errors(self.out):
            write_whole(self.partial / SUMMARY, to_json(dict(summary)))
            sync(self.partial)
            self.partial.rename(self.out)
            sync(self.out.parent)
            for name in (_KEPT, HASHES, STATE):
                (self.out / name).unlink(missing_ok=True)
            sync(self.out)

    def convert(self) -> None:
        """Write the kept pairs in a format that is not appended to, if that was asked for."""
        if self._kept_names() != [_KEPT]:
            return
        from regard.data.convert import convert_corpus

        place = self.partial / f"clean.{self._kind}"
        place.unlink(missing_ok=True)
        done = convert_corpus(
            PairFiles("jsonl", (str(self.partial / _KEPT),)), PairFiles(self._kind, (str(place),)), self._languages
        )
        self._altered_before += done.altered

    def abandon(self) -> bool:
        """Keep what can be gone on with, and say whether there is any."""
        if self._ours and not self.pairs:
            with suppress(OSError):  # it may hold what somebody else has put there
                for name in (*self._kept_names(), DROPPED, HASHES, STATE):
                    (self.partial / name).unlink(missing_ok=True)
                self.partial.rmdir()
        return self._ours and self.pairs > 0


def _cell(text: str) -> str:
    """A text as a cell of TSV, with escapes for control characters."""
    return shown(text, _WHOLE)


@contextmanager
def clean_files(
    out: Path, kind: FileFormat, languages: LanguagePair, settings: Mapping[str, Any]
) -> Iterator[CleanFiles]:
    """The files, opened. `finish` gives them their final names; without it they stay to be gone on with."""
    files = CleanFiles(out, kind, languages, settings)
    try:
        with disk_errors(out), ExitStack() as stack:  # closing writes, too
            files.begin(stack)
            yield files
    except BaseException:
        files.abandon()
        raise

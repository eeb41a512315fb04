"""`log.jsonl`: one JSON object per event. A resumed run truncates it to the step of the checkpoint."""

from pathlib import Path
from typing import TextIO

from regard.files import disk_errors, to_json_line, write_whole
from regard.foreign import bounded_lines, parse_json
from regard.training.events import Event


class JsonLog:
    """Appends events to a file and flushes after each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with disk_errors(path):
            self._file: TextIO = path.open("a", encoding="utf-8")

    def __call__(self, event: Event) -> None:
        with disk_errors(self._path):
            self._file.write(to_json_line(event.to_json()))
            self._file.flush()

    def close(self) -> None:
        with disk_errors(self._path):
            self._file.close()


def cut_back(path: Path, step: int) -> None:
    """Delete the events after `step`: a resumed run repeats those steps."""
    if not path.exists():
        return
    kept = []
    for number, content in enumerate(bounded_lines(path), 1):
        line = content.decode("utf-8", "replace")
        try:
            happened = int(parse_json(line, f"{path}:{number}")["step"])
        except (ValueError, KeyError, TypeError, OverflowError):
            continue  # the half line of an interrupted write, or damage
        if happened <= step:
            kept.append(line.removesuffix("\n") + "\n")  # a disk that was full may have taken all but the end
    write_whole(path, "".join(kept))

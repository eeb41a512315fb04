"""Pictures that cannot be read: all of them are found before one message names the first few and counts the others."""

from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import DataError

SHOWN = 5
LEFT_EMPTY = "; pictures that cannot be read, here {count:,}, are empty lines in the output"


class UnreadablePictures:
    """The errors of pictures that cannot be read."""

    def __init__(self) -> None:
        self._errors: list[str] = []

    def __len__(self) -> int:
        return len(self._errors)

    @contextmanager
    def collected(self) -> Iterator[None]:
        """A block that reads one picture. If it cannot be read, the rest of the block is left out and its error is kept."""
        try:
            yield
        except DataError as error:
            self._errors.append(str(error))

    def refuse(self, consequence: str = "") -> None:
        """Raise a `DataError` that names the pictures, if there are any. `consequence`: what became of them, with `{count}`."""
        if self._errors:
            raise DataError(self._message() + consequence.format(count=len(self)))

    def _message(self) -> str:
        more = len(self._errors) - SHOWN
        named = "; ".join(self._errors[:SHOWN])
        return f"{named}; and {more:,} more pictures that cannot be read" if more > 0 else named

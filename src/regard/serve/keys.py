"""`Keys`: the API keys of a server, compared in constant time. It keeps their hashes."""

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from regard.errors import ConfigError
from regard.foreign import bounded_lines

LONGEST = 512
"""Characters of a key; a longer one is wrong."""

_ADVICE = "give a text file with one key a line"
_REASONS = {FileNotFoundError: "no such file", IsADirectoryError: "a directory"}


@dataclass(frozen=True)
class Key:
    """A key by its place in the file. Its text is not kept."""

    number: int
    digest: bytes
    per_minute: int | None
    """Its requests a minute; None: as the settings say."""


class Keys:
    """The keys of a file. Without a file no key is needed."""

    def __init__(self, keys: tuple[Key, ...] | None) -> None:
        self._keys = keys

    @classmethod
    def read(cls, path: Path | None) -> "Keys":
        """The keys of a file: one a line, perhaps with its requests a minute behind it. Lines that begin with # are remarks."""
        if path is None:
            return cls(None)
        found: list[Key] = []
        try:
            lines = list(bounded_lines(path))
        except OSError as error:
            reason = _REASONS.get(type(error), f"cannot be read: {(error.strerror or str(error)).lower()}")
            raise ConfigError(f"--api-keys {path}: {reason}; {_ADVICE}") from None
        for number, line in enumerate(lines, 1):
            try:
                words = line.decode("utf-8").split()
            except UnicodeDecodeError as error:
                where = f"byte {line[error.start]:#x} at column {error.start + 1}"
                raise ConfigError(f"--api-keys {path}:{number}: not UTF-8 ({where}); {_ADVICE}") from None
            if not words or words[0].startswith("#"):
                continue
            rate = words[1] if len(words) > 1 else None
            if len(words) > 2 or (rate is not None and not rate.isdecimal()):
                raise ConfigError(f"{path}:{number}: expected a key and perhaps its requests a minute, as in `KEY 60`")
            found.append(Key(number, _digest(words[0]), None if rate is None else int(rate)))
        if not found:
            raise ConfigError(f"{path}: no key in it; write one a line, or leave --api-keys out")
        return cls(tuple(found))

    @property
    def needed(self) -> bool:
        """Whether requests need a key."""
        return self._keys is not None

    def find(self, given: str) -> Key | None:
        """The key of this text; None: there is none. It takes as long for a wrong one as for a right one."""
        digest = _digest(given[:LONGEST])
        found = None
        for key in self._keys or ():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found if len(given) <= LONGEST else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

"""Reads the `config.json` of a model of another program: typed, bounded values, each named in the error that refuses it."""

from pathlib import Path
from typing import Any, TypeVar

from regard.bundle.manifest import json_object, reading
from regard.errors import BundleError
from regard.foreign import RECORD_BYTES, read_bytes

ValueT = TypeVar("ValueT", int, float, bool, str)
_LARGEST = 1 << 31


class ForeignConfig:
    """The values of a JSON file. A missing key has the default of the program that wrote it."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path, self._values = path, values

    @classmethod
    def read(cls, path: Path) -> "ForeignConfig":
        """The config in a file of a model directory; a `BundleError` if it cannot be read."""
        with reading(path):
            content = read_bytes(path, RECORD_BYTES, root=path.parent)
        return cls(path, json_object(content, path))

    @classmethod
    def read_optional(cls, path: Path) -> "ForeignConfig":
        """The config in a file, or one without values if there is no file."""
        return cls.read(path) if path.exists() else cls(path, {})

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def raw(self, key: str) -> Any:
        """The value of a key as it is in the file."""
        return self._values.get(key)

    def get(self, key: str, kind: type[ValueT], default: ValueT) -> ValueT:
        """A value of this type."""
        value = self._values.get(key)
        if value is None:
            return default
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.refused(key, f"expected {kind.__name__}")
        if isinstance(value, int) and not -1 <= value < _LARGEST:
            raise self.refused(key, "out of range")
        return value

    def need(self, key: str, kind: type[ValueT]) -> ValueT:
        """A value that must be there."""
        if key not in self:
            raise BundleError(f"{self.path}: no {key}; it is not the config of such a model")
        return self.get(key, kind, kind())

    def expect(self, key: str, default: object, *allowed: object) -> None:
        """Refuse a value that regard's networks do not have."""
        value = self._values.get(key, default)
        if value not in allowed:
            raise self.refused(key, f"only {' or '.join(map(repr, allowed))} can be imported")

    def refused(self, key: str, reason: str) -> BundleError:
        return BundleError(f"{self.path}: {key} = {self._values.get(key)!r}: {reason}")


def mark_of(config: ForeignConfig, generation: ForeignConfig, key: str, default: int | None = None) -> int:
    """The id of a mark: of the generation config, else of the config."""
    holder = generation if key in generation else config
    value = holder.raw(key)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None:
        value = default
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise holder.refused(key, "expected the id of one piece")
    return value


def is_barred(generation: ForeignConfig, config: ForeignConfig, pad: int) -> bool:
    """Whether padding is among the outputs that are never generated."""
    barred = False
    for holder in (generation, config):
        words = holder.raw("bad_words_ids")
        if words is not None and not isinstance(words, list):
            raise holder.refused("bad_words_ids", "expected a list of lists of ids; save the model again")
        barred = barred or [pad] in (words or [])
    return barred

"""`Probe`: captures and edits intermediate values of a model, such as attention weights and hidden states.

The caller passes it to `forward`. Nothing is stored on a module, and without a probe no layer does extra work.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jaxtyping import Shaped
from torch import Tensor

from regard.errors import ConfigError

Edit = Callable[[Tensor], Tensor]

NEAREST = 4  # names that an error message lists
STEP = 3  # the place of the step in a name of a recurrent decoder: decoder.0.cross.3.weights


@dataclass(frozen=True)
class OptionalEdit:
    """An edit whose name may fit no value of a model, such as the self-attention of a recurrent one."""

    edit: Edit

    def __call__(self, value: Tensor) -> Tensor:
        return self.edit(value)


class Probe:
    """Captures every value whose name matches one of the patterns, after applying the edits of that name.

    Names are paths: `decoder.2.cross.weights`. A pattern may hold `*`, as in `Probe("decoder.*.cross.weights")`.
    """

    def __init__(
        self,
        *patterns: str,
        edits: Mapping[str, Edit] | None = None,
        gradients: bool = False,
        optional: Sequence[str] = (),
    ) -> None:
        """optional: more patterns, which may match nothing."""
        self._patterns, self._optional = patterns, tuple(optional)
        self._edits = dict(edits or {})
        self._gradients = gradients
        self._path = ""
        self._seen: dict[str, Tensor] = {}
        self._editable: dict[str, bool] = {}  # name -> whether it can be edited, of all values that the model has

    def within(self, name: str) -> "Probe":
        """This probe for a submodule: names of its values get the prefix `name.`."""
        return self._derived(f"{self._path}{name}.", self._edits)

    def with_edits(self, edits: Mapping[str, Edit]) -> "Probe":
        """This probe with more edits, after its own. Both share the captured values."""
        own = self._edits
        later = {name: _chained(own[name], edit) if name in own else edit for name, edit in edits.items()}
        return self._derived(self._path, {**own, **later})

    def require_matches(self) -> None:
        """Raise a `ConfigError` if a pattern or an edit fitted no value. Call it after the pass."""
        for pattern in self._patterns:
            _require_match(pattern, list(self._editable), "computes nothing")
        editable = [name for name, possible in self._editable.items() if possible]
        for pattern, edit in self._edits.items():
            if not isinstance(edit, OptionalEdit):
                _require_match(pattern, editable, "has nothing to edit")

    def wants(self, name: str) -> bool:
        """Whether a value of this name would be captured or edited. If not, it need not be computed."""
        full = self._path + name
        self._editable.setdefault(full, True)
        return any(fnmatchcase(full, pattern) for pattern in (*self._patterns, *self._optional, *self._edits))

    def see(self, name: str, value: Shaped[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
        """Edit and capture a value. Returns the value that the model must continue with."""
        full = self._path + name
        for pattern, edit in self._edits.items():
            if fnmatchcase(full, pattern):
                value = edit(value)
        self._capture(full, value, editable=True)
        return value

    def show(self, name: str, value: Shaped[Tensor, "*shape"]) -> None:
        """Capture a value that the model does not continue with, so that it cannot be edited."""
        self._capture(self._path + name, value, editable=False)

    def _capture(self, full: str, value: Tensor, *, editable: bool) -> None:
        self._editable[full] = editable
        if any(fnmatchcase(full, pattern) for pattern in (*self._patterns, *self._optional)):
            if self._gradients and value.requires_grad:
                value.retain_grad()
            self._seen[full] = value

    def __getitem__(self, name: str) -> Shaped[Tensor, "..."]:
        if name not in self._seen:
            raise KeyError(f"the probe saw nothing called {name!r}; it saw: {', '.join(self._seen) or 'nothing'}")
        return self._seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def _derived(self, path: str, edits: Mapping[str, Edit]) -> "Probe":
        """A probe with another path or other edits, which shares what is captured."""
        derived = Probe(*self._patterns, edits=edits, gradients=self._gradients, optional=self._optional)
        derived._path, derived._seen, derived._editable = path, self._seen, self._editable
        return derived


def _chained(first: Edit, second: Edit) -> Edit:
    def both(value: Tensor) -> Tensor:
        return second(first(value))

    return OptionalEdit(both) if isinstance(first, OptionalEdit) and isinstance(second, OptionalEdit) else both


def _require_match(pattern: str, names: Sequence[str], lack: str) -> None:
    """Raise a `ConfigError` if the pattern fits none of the names. A later step may be missing from a short output."""
    if not any(fnmatchcase(name, one) for one in (pattern, _of_any_step(pattern)) for name in names):
        near = difflib.get_close_matches(pattern.replace("*", ""), names, n=NEAREST, cutoff=0.0)
        raise ConfigError(
            f"this model {lack} called {pattern!r}; nearest: {', '.join(near) or 'nothing'}; Probe('*') lists all names"
        )


def _of_any_step(pattern: str) -> str:
    """decoder.0.cross.3.weights -> decoder.0.cross.*.weights"""
    parts = pattern.split(".")
    if len(parts) > STEP and parts[STEP].isdigit():
        parts[STEP] = "*"
    return ".".join(parts)


def within(probe: Probe | None, name: str) -> Probe | None:
    """`probe.within(name)`, or None without a probe."""
    return None if probe is None else probe.within(name)

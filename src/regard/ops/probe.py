"""`Probe`: captures and edits intermediate values of a model, such as attention weights and hidden states.

The caller passes it to `forward`. Nothing is stored on a module, and without a probe no layer does extra work.
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from jaxtyping import Shaped
from torch import Tensor

Edit = Callable[[Tensor], Tensor]


class Probe:
    """Captures every value whose name matches one of the patterns, after applying the edits of that name.

    Names are paths: `decoder.2.cross.weights`. A pattern may hold `*`, as in `Probe("decoder.*.cross.weights")`.
    """

    def __init__(self, *patterns: str, edits: Mapping[str, Edit] | None = None, gradients: bool = False) -> None:
        self._patterns = patterns
        self._edits = dict(edits or {})
        self._gradients = gradients
        self._path = ""
        self._seen: dict[str, Tensor] = {}

    def within(self, name: str) -> "Probe":
        """This probe for a submodule: names of its values get the prefix `name.`."""
        deeper = Probe(*self._patterns, edits=self._edits, gradients=self._gradients)
        deeper._path = f"{self._path}{name}."
        deeper._seen = self._seen
        return deeper

    def with_edits(self, edits: Mapping[str, Edit]) -> "Probe":
        """This probe with more edits, after its own. Both share the captured values."""
        own = self._edits
        later = {name: _chained(own[name], edit) if name in own else edit for name, edit in edits.items()}
        both = Probe(*self._patterns, edits={**own, **later}, gradients=self._gradients)
        both._path = self._path
        both._seen = self._seen
        return both

    def wants(self, name: str) -> bool:
        """Whether a value of this name would be captured or edited. If not, it need not be computed."""
        full = self._path + name
        return any(fnmatchcase(full, pattern) for pattern in (*self._patterns, *self._edits))

    def see(self, name: str, value: Shaped[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
        """Edit and capture a value. Returns the value that the model must continue with."""
        full = self._path + name
        for pattern, edit in self._edits.items():
            if fnmatchcase(full, pattern):
                value = edit(value)
        if any(fnmatchcase(full, pattern) for pattern in self._patterns):
            if self._gradients and value.requires_grad:
                value.retain_grad()
            self._seen[full] = value
        return value

    def __getitem__(self, name: str) -> Shaped[Tensor, "..."]:
        if name not in self._seen:
            raise KeyError(f"the probe saw nothing called {name!r}; it saw: {', '.join(self._seen) or 'nothing'}")
        return self._seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)


def _chained(first: Edit, second: Edit) -> Edit:
    return lambda value: second(first(value))


def within(probe: Probe | None, name: str) -> Probe | None:
    """`probe.within(name)`, or None without a probe."""
    return None if probe is None else probe.within(name)

"""The scores of `ops.scores` as modules with weights, and the table of their names.

Each has three parts: `prepare_query` for queries, `prepare_keys` for keys, once for all queries, and `compare`, the function for
`ops.attention.attend`.

Shapes: T queries, S keys, q and k their widths, a inner width; leading dimensions (batch, heads) are carried along.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.ops import scores as ops


@dataclass(frozen=True, slots=True)
class ScoreShape:
    """The sizes of a score's inputs and weights."""

    query: int
    key: int
    inner: int  # of additive, concat, mahalanobis and latent
    positions: int  # of location


class AttentionScore(nn.Module, ABC):
    """An attention score with its weights."""

    projected = True
    """Whether the attention must project queries and keys into a common space first."""

    def reset_parameters(self) -> None:
        """Initialise matrices by Xavier. Scores with other weights override this."""
        for parameter in self.parameters(recurse=False):
            nn.init.xavier_uniform_(parameter)

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        """Queries, prepared for `compare`."""
        return query

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        """Keys, prepared for `compare`."""
        return keys

    @property
    @abstractmethod
    def compare(self) -> ops.ScoreFunction:
        """From prepared queries and keys to scores [..., T, S]."""

    def forward(self, query: Float[Tensor, "... T q"], keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... T S"]:
        """The score of every query with every key."""
        return self.compare(self.prepare_query(query), self.prepare_keys(keys))


class Dot(AttentionScore):
    """q . k of projected queries and keys."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.dot


class ParameterFree(Dot):
    """q . k of the states themselves, which must be equally wide."""

    projected = False


class ScaledDot(Dot):
    """q . k / sqrt(d) of projected queries and keys."""

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.scaled_dot


class General(AttentionScore):
    """q^T W k"""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.query, shape.key))
        self.reset_parameters()

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return query @ self.weight

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.dot


class Additive(AttentionScore):
    """v . tanh(W q + U k)"""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(shape.inner, shape.query))
        self.key_weight = nn.Parameter(torch.empty(shape.inner, shape.key))
        self.vector = nn.Parameter(torch.empty(shape.inner))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Matrices as Xavier's, v so that a score of random signs has variance one."""
        nn.init.xavier_uniform_(self.query_weight)
        nn.init.xavier_uniform_(self.key_weight)
        nn.init.normal_(self.vector, std=len(self.vector) ** -0.5)

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return F.linear(query, self.query_weight)

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        return F.linear(keys, self.key_weight)

    @property
    def compare(self) -> ops.ScoreFunction:
        return lambda query, keys: ops.tanh_sum(query, keys, self.vector)


class Concat(AttentionScore):
    """v . tanh(W [q; k]): one matrix, read as the two of `Additive`."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.inner, shape.query + shape.key))
        self.vector = nn.Parameter(torch.empty(shape.inner))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The matrix as Xavier's, v so that a score of random signs has variance one."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.normal_(self.vector, std=len(self.vector) ** -0.5)

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return F.linear(query, self.weight[:, : query.shape[-1]])

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        return F.linear(keys, self.weight[:, -keys.shape[-1] :])

    @property
    def compare(self) -> ops.ScoreFunction:
        return lambda query, keys: ops.tanh_sum(query, keys, self.vector)


class Cosine(AttentionScore):
    """b cos(q, k), b = sqrt(d) e^s with s learned: from s = 0, the scores of random vectors have variance one."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.log_strength = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with s = 0."""
        nn.init.zeros_(self.log_strength)

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        strength: Tensor = query.shape[-1] ** 0.5 * self.log_strength.exp()
        return F.normalize(query, dim=-1) * strength

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        return F.normalize(keys, dim=-1)

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.dot


class Location(AttentionScore):
    """(W q)_s: the s-th number that the query alone gives."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.positions, shape.query))
        self.reset_parameters()

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return F.linear(query, self.weight)

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.by_position


class Mahalanobis(AttentionScore):
    """-1/2 (q - k)^T L^T L (q - k): one map for both, so they must be equally wide."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        assert shape.query == shape.key, f"a distance between widths {shape.query} and {shape.key}"
        self.root = nn.Parameter(torch.empty(shape.inner, shape.key))
        self.reset_parameters()

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return F.linear(query, self.root)

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        return F.linear(keys, self.root)

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.near


class Gaussian(AttentionScore):
    """-|q - k|^2 / (2 s^2), s^2 = sqrt(d) e^v with v learned: from v = 0, q . k counts as much as in the scaled dot product."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.log_variance = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with v = 0."""
        nn.init.zeros_(self.log_variance)

    @property
    def compare(self) -> ops.ScoreFunction:
        def compare(query: Tensor, keys: Tensor) -> Tensor:
            return ops.gaussian(query, keys, query.shape[-1] ** 0.5 * self.log_variance.exp())

        return compare


class Latent(AttentionScore):
    """(A q) . (B k) in a space of few dimensions."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(shape.inner, shape.query))
        self.key_weight = nn.Parameter(torch.empty(shape.inner, shape.key))
        self.reset_parameters()

    def prepare_query(self, query: Float[Tensor, "... T q"]) -> Float[Tensor, "... T a"]:
        return F.linear(query, self.query_weight)

    def prepare_keys(self, keys: Float[Tensor, "... S k"]) -> Float[Tensor, "... S a"]:
        return F.linear(keys, self.key_weight)

    @property
    def compare(self) -> ops.ScoreFunction:
        return ops.dot


SCORES: dict[str, type[AttentionScore]] = {
    "parameter_free": ParameterFree,
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "concat": Concat,
    "additive": Additive,
    "cosine": Cosine,
    "location": Location,
    "mahalanobis": Mahalanobis,
    "gaussian": Gaussian,
    "latent": Latent,
}
"""Every score by its name in `model.score`."""


def inner_width(name: str, width: int | None, default: int) -> int:
    """The inner width of a score: as given, or the default, a quarter of it for `latent`."""
    return width or (max(1, default // 4) if name == "latent" else default)


def head_score(name: str, head: int, *, width: int | None, positions: int) -> AttentionScore | None:
    """The score of an attention with heads of width `head`; None: the scaled dot product, which has a faster kernel."""
    if name == "scaled_dot":
        return None
    return SCORES[name](ScoreShape(query=head, key=head, inner=inner_width(name, width, head), positions=positions))

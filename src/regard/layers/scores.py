"""The scores of `ops.scores` as modules that own their weights, and the one table of their names.

Each is made of three parts: what is done to a query (`ask`), what is done to the keys, once for all queries (`remember`), and how the two
are then compared (`compare`), which is what `ops.attention.attend` takes.

Shapes: T queries, S keys, d, q, k, a widths; leading dimensions (batch, heads) are carried along.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.ops import scores as ops


@dataclass(frozen=True, slots=True)
class ScoreShape:
    """The sizes that a score is made for."""

    query: int
    key: int
    inner: int  # of additive, concat, mahalanobis and latent
    positions: int  # of location


class Score(nn.Module, ABC):
    """How well queries fit keys."""

    projected = True
    """Whether it takes a query and a key of one space, into which the attention around it has to map them."""

    def ask(self, query: Tensor) -> Tensor:
        """[..., T, q] -> what is compared"""
        return query

    def remember(self, keys: Tensor) -> Tensor:
        """[..., S, k] -> what is compared"""
        return keys

    @property
    @abstractmethod
    def compare(self) -> ops.Score:
        """From what was asked and what was remembered to scores [..., T, S]."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """([..., T, q], [..., S, k]) -> [..., T, S]"""
        return self.compare(self.ask(query), self.remember(keys))


class Dot(Score):
    """q . k of projected queries and keys."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()

    @property
    def compare(self) -> ops.Score:
        return ops.dot


class ParameterFree(Dot):
    """q . k of the states themselves, which must be equally wide."""

    projected = False


class ScaledDot(Dot):
    """q . k / sqrt(d) of projected queries and keys."""

    @property
    def compare(self) -> ops.Score:
        return ops.scaled_dot


class General(Score):
    """q^T W k"""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.query, shape.key))

    def ask(self, query: Tensor) -> Tensor:
        return query @ self.weight

    @property
    def compare(self) -> ops.Score:
        return ops.dot


class Additive(Score):
    """v . tanh(W q + U k)"""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(shape.inner, shape.query))
        self.key_weight = nn.Parameter(torch.empty(shape.inner, shape.key))
        self.vector = nn.Parameter(torch.empty(shape.inner))

    def ask(self, query: Tensor) -> Tensor:
        return F.linear(query, self.query_weight)

    def remember(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.key_weight)

    @property
    def compare(self) -> ops.Score:
        return lambda query, keys: ops.tanh_sum(query, keys, self.vector)


class Concat(Score):
    """v . tanh(W [q; k]): one matrix, read as the two of `Additive`."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.inner, shape.query + shape.key))
        self.vector = nn.Parameter(torch.empty(shape.inner))

    def ask(self, query: Tensor) -> Tensor:
        return F.linear(query, self.weight[:, : query.shape[-1]])

    def remember(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.weight[:, -keys.shape[-1] :])

    @property
    def compare(self) -> ops.Score:
        return lambda query, keys: ops.tanh_sum(query, keys, self.vector)


class Cosine(Score):
    """b cos(q, k), b = sqrt(d) e^s with s learned: from s = 0, the scores of random vectors have variance one."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.log_strength = nn.Parameter(torch.zeros(1))

    def ask(self, query: Tensor) -> Tensor:
        strength: Tensor = query.shape[-1] ** 0.5 * self.log_strength.exp()
        return F.normalize(query, dim=-1) * strength

    def remember(self, keys: Tensor) -> Tensor:
        return F.normalize(keys, dim=-1)

    @property
    def compare(self) -> ops.Score:
        return ops.dot


class Location(Score):
    """(W q)_s: the s-th number that the query alone gives."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.positions, shape.query))

    def ask(self, query: Tensor) -> Tensor:
        return F.linear(query, self.weight)

    @property
    def compare(self) -> ops.Score:
        return ops.by_position


class Mahalanobis(Score):
    """-1/2 (q - k)^T L^T L (q - k): one map for both, so they must be equally wide."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        assert shape.query == shape.key, f"a distance between widths {shape.query} and {shape.key}"
        self.root = nn.Parameter(torch.empty(shape.inner, shape.key))

    def ask(self, query: Tensor) -> Tensor:
        return F.linear(query, self.root)

    def remember(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.root)

    @property
    def compare(self) -> ops.Score:
        return ops.near


class Gaussian(Score):
    """-|q - k|^2 / (2 s^2), s^2 = sqrt(d) e^v with v learned: from v = 0, q . k counts as much as in the scaled dot product."""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.log_variance = nn.Parameter(torch.zeros(1))

    @property
    def compare(self) -> ops.Score:
        def compare(query: Tensor, keys: Tensor) -> Tensor:
            return ops.gaussian(query, keys, query.shape[-1] ** 0.5 * self.log_variance.exp())

        return compare


class Latent(Score):
    """(A q) . (B k) in a space of few dimensions."""

    projected = False

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(shape.inner, shape.query))
        self.key_weight = nn.Parameter(torch.empty(shape.inner, shape.key))

    def ask(self, query: Tensor) -> Tensor:
        return F.linear(query, self.query_weight)

    def remember(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.key_weight)

    @property
    def compare(self) -> ops.Score:
        return ops.dot


SCORES: dict[str, type[Dot | General | Additive | Concat | Cosine | Location | Mahalanobis | Gaussian | Latent]] = {
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

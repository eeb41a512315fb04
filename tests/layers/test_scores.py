"""Scores as modules: each is its equation with its own weights, whatever is computed once."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.layers.attention import SelfAttention
from regard.layers.scores import SCORES, AttentionScore, ScoreShape
from regard.models.config import SCORE_TRAITS
from regard.ops import scores as ops
from regard.ops.attention import attend

WIDTH = 4

EQUATIONS: dict[str, Callable[..., Tensor]] = {
    "parameter_free": lambda module, q, k: ops.dot(q, k),
    "dot": lambda module, q, k: ops.dot(q, k),
    "scaled_dot": lambda module, q, k: ops.scaled_dot(q, k),
    "general": lambda module, q, k: ops.general(q, k, module.weight),
    "concat": lambda module, q, k: ops.concat(q, k, module.weight, module.vector),
    "additive": lambda module, q, k: ops.additive(q, k, module.query_weight, module.key_weight, module.vector),
    "cosine": lambda module, q, k: ops.cosine(q, k, 2.0 * module.log_strength.exp()),
    "location": lambda module, q, k: ops.location(q, k, module.weight),
    "mahalanobis": lambda module, q, k: ops.mahalanobis(q, k, module.root),
    "gaussian": lambda module, q, k: ops.gaussian(q, k, 2.0 * module.log_variance.exp()),
    "latent": lambda module, q, k: ops.latent(q, k, module.query_weight, module.key_weight),
}


def made(name: str, query: int = WIDTH, key: int = WIDTH) -> AttentionScore:
    module = SCORES[name](ScoreShape(query=query, key=key, inner=3, positions=9)).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def test_the_table_holds_every_name_of_the_config() -> None:
    assert tuple(SCORES) == tuple(SCORE_TRAITS)
    assert SCORES.keys() == EQUATIONS.keys()


@pytest.mark.parametrize("name", SCORES)
def test_a_module_is_its_equation(name: str) -> None:
    torch.manual_seed(0)
    own = not SCORES[name].projected and name not in ("parameter_free", "mahalanobis")
    module = made(name, key=5 if own else WIDTH)
    query, keys = torch.randn(2, 1, 3, WIDTH).double(), torch.randn(2, 1, 7, 5 if own else WIDTH).double()
    expected = EQUATIONS[name](module, query, keys)
    assert expected.shape == (2, 1, 3, 7)
    torch.testing.assert_close(module(query, keys), expected)
    values = torch.randn(2, 1, 7, 6).double()
    found = attend(module.prepare_query(query), module.prepare_keys(keys), values, score=module.compare)
    torch.testing.assert_close(found, torch.softmax(expected, dim=-1) @ values)


@pytest.mark.parametrize("name", [name for name in SCORES if name != "location"])
def test_heads_compare_by_the_score(name: str) -> None:
    """Multi-head attention with a score, against the equation written out for each head."""
    torch.manual_seed(0)
    score, projected = made(name), name != "parameter_free"
    layer = SelfAttention(width=8, heads=2, score=score, projected=projected).double()
    x = torch.randn(3, 5, 8).double()
    query, key = (layer.query(x), layer.key(x)) if projected else (x, x)
    heads = [
        torch.softmax(EQUATIONS[name](score, query[..., part], key[..., part]), dim=-1) @ layer.value(x)[..., part]
        for part in (slice(0, 4), slice(4, 8))
    ]
    torch.testing.assert_close(layer(x), layer.output(torch.cat(heads, dim=-1)))


def test_a_distance_needs_one_space() -> None:
    with pytest.raises(AssertionError, match="widths 4 and 5"):
        made("mahalanobis", key=5)

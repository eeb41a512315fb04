"""Attention that learns to select tokens, trained by normalised gradient descent in float64.

One layer reads n samples of T tokens, each with a query z and a label y: f = v . sum_t softmax(x_t W z)_t x_t, and the loss is
softplus(-y f). Its optimum is at infinity: W grows, the softmax becomes a choice of one token, and the gradient underflows. A gradient
that is normalised needs only its direction, so the directions here are computed by logarithms: exact at any norm of W.

Shapes: R runs side by side, n samples, T tokens, d width.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

FACTOR_SCALE = 0.01  # of the initial K and Q; W = K Q^T starts near zero


@dataclass(frozen=True)
class TokenProblem:
    """Random problems: every token, query and readout vector is uniform on the unit sphere, every label is a fair coin."""

    tokens: Float[Tensor, "R n T d"]
    queries: Float[Tensor, "R n d"]
    readout: Float[Tensor, "R d"]
    labels: Float[Tensor, "R n"]

    @property
    def gains(self) -> Float[Tensor, "R n T"]:
        """y v . x_t: what a sample gains from attention to token t."""
        return gains_of(self, self.tokens)


def draw_problem(runs: int, samples: int, length: int, width: int, seed: int) -> TokenProblem:
    """`runs` random problems of `samples` samples each."""
    generator = torch.Generator().manual_seed(seed)

    def on_sphere(*shape: int) -> Tensor:
        vectors = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return vectors / vectors.norm(dim=-1, keepdim=True)

    labels = torch.randint(0, 2, (runs, samples), generator=generator).double() * 2 - 1
    return TokenProblem(
        on_sphere(runs, samples, length, width), on_sphere(runs, samples, width), on_sphere(runs, width), labels
    )


def gains_of(problem: TokenProblem, tokens: Float[Tensor, "R n T d"]) -> Float[Tensor, "R n T"]:
    """y v . x_t of other tokens in the place of the problem's, such as the outputs of a layer."""
    return torch.einsum("rn,rntd,rd->rnt", problem.labels, tokens, problem.readout)


def attention_logits(
    tokens: Float[Tensor, "R n T d"], weight: Float[Tensor, "R d d"], queries: Float[Tensor, "R n d"]
) -> Float[Tensor, "R n T"]:
    """x_t W z."""
    return torch.einsum("rntd,rde,rne->rnt", tokens, weight, queries)


def logit_gradient(
    logits: Float[Tensor, "R ... T"],
    slopes: Float[Tensor, "R ... T"],
    log_scale: Float[Tensor, "R ..."] | None = None,
) -> Float[Tensor, "R ... T"]:
    """dL/dlogits up to one positive factor a run, for L = sum over rows of exp(log_scale) sum_t softmax(logits)_t slopes_t.

    d/ds_t = p_t sum_u p_u (a_t - a_u). The products p_t p_u are kept as logarithms, and the largest of a run is scaled to one.
    """
    log_p = logits.log_softmax(-1)
    log_products = log_p[..., :, None] + log_p[..., None, :]
    if log_scale is not None:
        log_products = log_products + log_scale[..., None, None]
    alone = torch.eye(logits.shape[-1], dtype=torch.bool)
    log_products = log_products.masked_fill(alone, -torch.inf)
    largest = log_products.flatten(1).amax(1).reshape(-1, *[1] * (log_products.ndim - 1))
    return ((log_products - largest).exp() * (slopes[..., :, None] - slopes[..., None, :])).sum(-1)


def loss_slope(outputs: Float[Tensor, "R n"]) -> Float[Tensor, "R n"]:
    """d softplus(-f) / df."""
    return -torch.sigmoid(-outputs)


def weight_gradient(problem: TokenProblem, weight: Float[Tensor, "R d d"]) -> Float[Tensor, "R d d"]:
    """The direction of dL/dW of one layer."""
    logits = attention_logits(problem.tokens, weight, problem.queries)
    gains = problem.gains
    slope = loss_slope((logits.softmax(-1) * gains).sum(-1))
    at_logits = logit_gradient(logits, slope[..., None] * gains)
    return torch.einsum("rnt,rntd,rne->rde", at_logits, problem.tokens, problem.queries)


def train_weight(problem: TokenProblem, steps: list[int], rate: float) -> list[Float[Tensor, "R d d"]]:
    """W after each of `steps` (ascending), trained directly from zero."""
    runs, width = problem.readout.shape
    weight, kept = torch.zeros(runs, width, width, dtype=torch.float64), []
    for step in range(1, steps[-1] + 1):
        weight = weight - rate * _unit(weight_gradient(problem, weight))
        if step in steps:
            kept.append(weight)
    return kept


def train_factors(problem: TokenProblem, steps: list[int], rate: float, seed: int) -> list[Float[Tensor, "R d d"]]:
    """W = K Q^T after each of `steps`, with K and Q trained together from small random values."""
    runs, width = problem.readout.shape
    generator = torch.Generator().manual_seed(seed)
    key, query = (
        FACTOR_SCALE * torch.randn(runs, width, width, generator=generator, dtype=torch.float64) for _ in range(2)
    )
    kept = []
    for step in range(1, steps[-1] + 1):
        gradient = weight_gradient(problem, key @ query.mT)
        both = _unit(torch.cat([gradient @ query, gradient.mT @ key], dim=1))
        key, query = key - rate * both[:, :width], query - rate * both[:, width:]
        if step in steps:
            kept.append(key @ query.mT)
    return kept


@dataclass(frozen=True)
class TwoLayers:
    """Two layers of self-attention, each with a residual connection, and the readout after the second.

    The first layer lets every token look at all tokens; the second looks with the problem's query at what the first wrote.
    """

    first: Float[Tensor, "R d d"]
    second: Float[Tensor, "R d d"]

    def hidden(self, problem: TokenProblem) -> Float[Tensor, "R n T d"]:
        """x_q + sum_t softmax(x_t W1 x_q)_t x_t for every token q."""
        return problem.tokens + self.first_logits(problem).softmax(-1) @ problem.tokens

    def first_logits(self, problem: TokenProblem) -> Float[Tensor, "R n T T"]:
        """[.., q, t]: x_t W1 x_q."""
        return torch.einsum("rntd,rde,rnqe->rnqt", problem.tokens, self.first, problem.tokens)

    def gradients(self, problem: TokenProblem) -> tuple[Float[Tensor, "R d d"], Float[Tensor, "R d d"]]:
        """The directions of dL/dW1 and dL/dW2, each exact up to a positive factor a run."""
        hidden = self.hidden(problem)
        logits = attention_logits(hidden, self.second, problem.queries)
        gains = gains_of(problem, hidden)
        outputs = (logits.softmax(-1) * gains).sum(-1)
        slope = loss_slope(outputs)
        at_second = logit_gradient(logits, slope[..., None] * gains)
        second = torch.einsum("rnt,rntd,rne->rde", at_second, hidden, problem.queries)
        # dL/dh_q = p_q slope (y v + (gain_q - f) W2 z): the value that is read, and the key that is looked at
        value = problem.labels[..., None] * problem.readout[:, None]
        key = torch.einsum("rde,rne->rnd", self.second, problem.queries)
        at_hidden = slope[..., None, None] * (
            value[:, :, None] + (gains - outputs[..., None])[..., None] * key[:, :, None]
        )
        slopes = torch.einsum("rnqd,rntd->rnqt", at_hidden, problem.tokens)
        at_first = logit_gradient(self.first_logits(problem), slopes, logits.log_softmax(-1))
        return torch.einsum("rnqt,rntd,rnqe->rde", at_first, problem.tokens, problem.tokens), second


def train_two_layers(problem: TokenProblem, steps: int, rate: float) -> TwoLayers:
    """Both weights trained together from zero, each with a normalised gradient."""
    runs, width = problem.readout.shape
    model = TwoLayers(*torch.zeros(2, runs, width, width, dtype=torch.float64))
    for _ in range(steps):
        first, second = model.gradients(problem)
        model = TwoLayers(model.first - rate * _unit(first), model.second - rate * _unit(second))
    return model


def _unit(gradient: Float[Tensor, "R a b"]) -> Float[Tensor, "R a b"]:
    return gradient / gradient.norm(dim=(1, 2), keepdim=True)

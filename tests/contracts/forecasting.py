"""The contract of forecasters: what they read, how quantiles are trained, and that step by step equals teacher forcing.

Shapes: B windows, L context, H horizon, F known columns, Q quantiles.
"""

from typing import Any

import torch
from torch import Tensor

from regard.models.build import build_forecaster
from regard.models.config import FORECASTERS, ModelConfig
from regard.ops.series import pinball

CONTEXT, HORIZON, QUANTILES, KNOWN = 26, 7, (0.1, 0.5, 0.9), 2
SMALL = {"width": 8, "heads": 2, "feed_forward": 12, "layers": 2, "dropout": 0.0, "patch": 5, "stride": 3}
RECURRENT = {"width": 6, "dropout": 0.0, "patch": 5, "stride": 5}

FORECASTING: dict[str, ModelConfig] = {
    "patch": FORECASTERS["patch"](**SMALL),
    "patch, sinusoids and post-norm": FORECASTERS["patch"](**SMALL, positions="sinusoidal", norm="post"),
    "patch, long convolution": FORECASTERS["patch"](**SMALL, mixer="hyena", filter_width=4),
    "transformer": FORECASTERS["transformer"](**SMALL),
    "transformer, relative positions": FORECASTERS["transformer"](**SMALL, positions="relative"),
    "transformer, single values": FORECASTERS["transformer"](**{**SMALL, "patch": 1, "stride": 1}),
    "recurrent with attention": FORECASTERS["recurrent"](**RECURRENT),
    "recurrent without attention": FORECASTERS["recurrent"](**RECURRENT, attention=False),
    "recurrent with input feeding": FORECASTERS["recurrent"](**RECURRENT, input_feeding=True, layers=2),
    "dlinear": FORECASTERS["dlinear"](kernel=5),
    "nlinear": FORECASTERS["nlinear"](),
}
WRITERS = {"transformer", "recurrent"}
"""Kinds that write the future step by step."""


def forecaster(config: ModelConfig, known: int = KNOWN, seed: int = 1) -> Any:
    """A forecaster for evaluation whose every weight is random."""
    torch.manual_seed(seed)
    network = build_forecaster(config, CONTEXT, HORIZON, len(QUANTILES), known).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return network


def batch(seed: int = 2, rows: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    drawn = [
        torch.randn(rows, *shape, generator=generator) for shape in ((CONTEXT,), (CONTEXT + HORIZON, KNOWN), (HORIZON,))
    ]
    return drawn[0], drawn[1], drawn[2]


def what_it_writes_is_what_teacher_forcing_gives(config: ModelConfig) -> None:
    """Read back, its own forecast gives the same forecast: the steps together equal the pass over all."""
    network = forecaster(config)
    past, known, _ = batch()
    free = network(past, known)
    forced = network(past, known, free[..., 0])
    torch.testing.assert_close(forced, free, atol=2e-5, rtol=1e-4)


def no_output_sees_its_own_future(config: ModelConfig) -> None:
    """With teacher forcing, the outputs of a patch do not change with its own values or later ones."""
    network = forecaster(config)
    past, known, future = batch()
    patch = getattr(config, "patch", HORIZON) if getattr(config, "kind", "") in WRITERS else HORIZON
    before = network(past, known, future)
    first = (HORIZON - 1) // patch * patch  # the beginning of the last patch
    changed = future.clone()
    changed[:, first:] += 5.0
    torch.testing.assert_close(network(past, known, changed), before)
    if first and getattr(config, "kind", "") in WRITERS:
        changed[:, first - 1] += 5.0
        assert not torch.allclose(network(past, known, changed)[:, first:], before[:, first:], atol=1e-5)


def a_window_is_forecast_in_its_own_units(config: ModelConfig) -> None:
    """Where the window is normalised, another unit or level of the series is that of the forecast."""
    kind = getattr(config, "instance_norm", "none")
    network = forecaster(config, known=0)
    past, _, _ = batch()
    plain = network(past)
    if kind == "none":
        return
    factor = 3.0 if kind == "standard" else 1.0
    torch.testing.assert_close(network(factor * past + 7.0), factor * plain + 7.0, atol=2e-3, rtol=1e-3)


def quantiles_do_not_change_how_the_value_is_trained(config: ModelConfig) -> None:
    """The gradient of all weights but the quantiles' is that of squared errors alone."""
    network = forecaster(config)
    past, known, future = batch()
    names = [name for name, _ in network.named_parameters()]
    levels = torch.tensor(QUANTILES)

    def gradients(*, squared: bool, quantiles: bool) -> dict[str, Tensor]:
        outputs = network(past, known, future)
        loss = (outputs[..., 0] - future).square().sum() * squared + pinball(
            outputs[..., 1:], future, levels
        ).sum() * quantiles
        found = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True, materialize_grads=True)
        return dict(zip(names, found, strict=True))

    both, alone = gradients(squared=True, quantiles=True), gradients(squared=True, quantiles=False)
    for name in names:
        if ".distance." in name:
            assert alone[name].abs().max() == 0.0, name
            assert both[name].abs().max() > 0.0, name
        else:
            torch.testing.assert_close(both[name], alone[name], msg=name)
            assert both[name].abs().max() > 0.0 or name.endswith(("key.bias", "hidden_bias")), name


def one_batch_can_be_overfitted(config: ModelConfig) -> None:
    torch.manual_seed(1)
    network = build_forecaster(config, CONTEXT, HORIZON, len(QUANTILES), 0).train()
    past, _, future = batch(rows=4)
    optimizer = torch.optim.Adam(network.parameters(), 0.03)
    first = None
    for _ in range(50):
        loss = (network(past, None, future)[..., 0] - future).square().mean()
        first = loss.item() if first is None else first
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5 * first, (first, loss.item())


def the_weights_of_the_past_are_shares(config: ModelConfig) -> None:
    network = forecaster(config)
    past, known, _ = batch()
    with torch.no_grad():
        found = network.attended(past, known)
    looks = not (getattr(config, "attention", True) is False or getattr(config, "mixer", "attention") != "attention")
    assert (found is not None) == looks
    if found is not None:
        _, weights = found
        assert weights.shape[::2] == (len(past), CONTEXT)
        assert weights.min() >= 0.0
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:2]))


def known_columns_are_a_regression(config: ModelConfig) -> None:
    """A series that is the effect of the known columns plus another is forecast as that other, plus the future effect."""
    network = forecaster(config)
    past, known, _ = batch()
    effect = (known @ network.regression.weight[0]).detach()
    plain = network(past, torch.zeros_like(known))
    torch.testing.assert_close(
        network(past + effect[:, :CONTEXT], known), plain + effect[:, CONTEXT:, None], atol=1e-4, rtol=1e-4
    )


CHECKS = (
    what_it_writes_is_what_teacher_forcing_gives,
    no_output_sees_its_own_future,
    a_window_is_forecast_in_its_own_units,
    quantiles_do_not_change_how_the_value_is_trained,
    one_batch_can_be_overfitted,
    the_weights_of_the_past_are_shares,
    known_columns_are_a_regression,
)

"""The contract of decoders: no position depends on a later one. Shapes: B batch, S source, T target, V outputs."""

import torch

from contracts.cases import VOCABULARY, ModelCase, prefixes, sources
from regard.ops.probe import Probe

ROUNDING = 2e-6
"""The share of the largest gradient that rounding leaves where a Fourier transform of all positions cancels."""


@torch.no_grad()
def a_later_token_changes_no_earlier_logit(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 1, 6)[:, 0]
    before = model(source, target_in)
    for changed in range(1, 6):
        other = target_in.clone()
        other[:, changed] = 1 + other[:, changed] % (VOCABULARY - 2)  # another token, neither end nor pad
        after = model(source, other)
        least = 1e-5 if "transforming" in case.capabilities else 1e-6
        torch.testing.assert_close(after[:, :changed], before[:, :changed], rtol=0.0, atol=least)
        assert ((after[:, changed] - before[:, changed]).abs().amax(dim=-1) > 1e-3).all(), (
            "the token itself must be seen"
        )


def no_gradient_comes_from_a_later_token(case: ModelCase) -> None:
    model, source = case.random(), sources()
    target_in = prefixes(len(source), 1, 6)[:, 0]
    for position in range(6):
        probe = Probe("decoder.embedding", gradients=True)
        logits = model(source, target_in, probe=probe)
        model.zero_grad()
        logits[:, position].square().sum().backward()
        gradient = probe["decoder.embedding"].grad
        assert gradient is not None
        later, most = gradient[:, position + 1 :], gradient.abs().max()
        if "transforming" in case.capabilities:
            assert (later.abs() <= ROUNDING * most).all()
        else:
            assert not later.any()
        assert (gradient[:, : position + 1].abs().amax(dim=(0, 2)) > 0).all(), "all that came before must be seen"


CHECKS = (a_later_token_changes_no_earlier_logit, no_gradient_comes_from_a_later_token)

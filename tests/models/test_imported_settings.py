"""The settings that imported models have: a bias of the outputs, and a source whose end mark is not read."""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.batches import Batch
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.models.network import EncoderDecoder
from regard.training.loss import batch_loss

VOCABULARY = 12
PAD = VOCABULARY - 1


def network(**settings: object) -> EncoderDecoder:
    torch.manual_seed(1)
    sizes = {"layers": 1, "width": 8, "heads": 2, "feed_forward": 8, "dropout": 0.0, "positions": "sinusoidal"}
    built = build_translator(TransformerConfig.parse({**sizes, **settings}), VOCABULARY, VOCABULARY, True)
    if built.output_bias is not None:
        torch.nn.init.normal_(built.output_bias)
    return built.eval()


def pair() -> tuple[Tensor, Tensor]:
    return torch.tensor([[3, 4, 5, 0], [6, 0, PAD, PAD]]), torch.tensor([[7, 8, 0], [9, 0, PAD]])


def test_the_loss_has_the_bias_of_the_outputs() -> None:
    model = network(output_bias=True)
    source, target = pair()
    target_in = torch.cat([torch.full((2, 1), PAD), target[:, :-1]], 1)
    batch = Batch(source=source, target_in=target_in, target_out=target, indices=(0, 1), tokens=5)
    loss, nll = batch_loss(model, batch, 0.1, torch.device("cpu"))
    loss.backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    logits = model(source, target_in)[target != PAD]
    expected = F.cross_entropy(logits, target[target != PAD], label_smoothing=0.1, reduction="sum")
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, target[target != PAD], reduction="sum").detach())
    assert "output_bias" in found
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, model.get_parameter(name).grad, atol=1e-5, rtol=1e-4)


def test_outputs_that_are_kept_keep_their_bias() -> None:
    model = network(output_bias=True)
    source, target = pair()
    outputs = torch.tensor([0, 3, 7])
    with torch.no_grad():
        expected = model(source, target)[..., outputs]
        torch.testing.assert_close(model.restricted(outputs)(source, target), expected)


def test_an_end_mark_that_is_not_read_changes_nothing() -> None:
    model, reading = network(source_end=False), network(source_end=True)
    source, target = pair()
    without = source.masked_fill(source == 0, PAD)
    with torch.no_grad():
        torch.testing.assert_close(model(source, target), reading(without, target))
        assert not torch.allclose(reading(source, target), reading(without, target))
        assert model(torch.tensor([[0]]), target[:1]).isfinite().all(), "an empty text"

"""A probe captures what fits its patterns, changes what its edits name, and leaves no trace in the model."""

import pytest
import torch

from regard.errors import ConfigError
from regard.layers import attention
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig, TransformerConfig
from regard.models.transformer import Transformer
from regard.ops.probe import OptionalEdit, Probe

CONFIG = TransformerConfig(layers=2, width=16, heads=2, feed_forward=32)


@pytest.fixture
def network() -> Transformer:
    torch.manual_seed(0)
    return build_translator(CONFIG, 20, 20, joint=True).eval()


SOURCE = torch.tensor([[3, 4, 5, 0], [6, 0, 19, 19]])
TARGET = torch.tensor([[19, 7, 8], [19, 9, 10]])


def test_probed_equals_unprobed(network: Transformer) -> None:
    torch.testing.assert_close(network(SOURCE, TARGET), network(SOURCE, TARGET, probe=Probe("*")), rtol=0, atol=1e-5)


def test_names_and_weights_that_sum_to_one(network: Transformer) -> None:
    probe = Probe("decoder.*.cross.weights", "encoder.0.self.weights")
    network(SOURCE, TARGET, probe=probe)
    assert sorted(probe) == ["decoder.0.cross.weights", "decoder.1.cross.weights", "encoder.0.self.weights"]
    weights = probe["decoder.1.cross.weights"]
    assert weights.shape == (2, 2, 3, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3))
    assert weights[1, :, :, 2:].abs().max().item() == 0.0  # padding is never looked at


def test_an_attention_that_nobody_looks_at_takes_the_fast_way(
    network: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = Probe("*")
    network(SOURCE, TARGET, probe=everything)
    of_one = {name.removeprefix("decoder.0.cross.") for name in everything if name.startswith("decoder.0.cross.")}
    assert of_one == set(attention.SHOWN)
    slow: list[int] = []
    explicit = attention.probed_attention
    monkeypatch.setattr(attention, "probed_attention", lambda *a, **k: (slow.append(1), explicit(*a, **k))[1])
    for name in attention.SHOWN:
        slow.clear()
        network(SOURCE, TARGET, probe=Probe(f"decoder.1.cross.{name}"))
        assert len(slow) == 1
        network(SOURCE, TARGET, probe=Probe(edits={f"encoder.*.self.{name}": OptionalEdit(torch.abs)}))
        assert len(slow) == 3


def test_an_edit_changes_the_result_and_only_for_its_name(network: Transformer) -> None:
    plain = network(SOURCE, TARGET)

    def mask_first_head(weights: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.zeros_like(weights[:, :1]), weights[:, 1:]], dim=1)

    edited = network(SOURCE, TARGET, probe=Probe(edits={"decoder.0.cross.weights": mask_first_head}))
    assert (plain - edited).abs().max().item() > 1e-3
    both = network(SOURCE, TARGET, probe=Probe(edits={"decoder.*.cross.weights": mask_first_head}))
    assert (both - edited).abs().max().item() > 1e-3


@pytest.mark.parametrize(
    "name", ["decoder.2.cross.weights", "decoder.*.cros.weights", "decoder.-1.cross.*context", "x"]
)
def test_a_name_that_fits_nothing_is_an_error(network: Transformer, name: str) -> None:
    for probe in (Probe(name), Probe("*", edits={name: torch.neg}), Probe("*", name)):
        with pytest.raises(ConfigError) as caught:
            network(SOURCE, TARGET, probe=probe)
        assert repr(name) in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"nearest: .*decoder\.1\.cross\.weights"):
        network(SOURCE, TARGET, probe=Probe("decoder.2.cross.weights"))
    optional = Probe(optional=[name], edits={name: OptionalEdit(torch.neg)})
    torch.testing.assert_close(network(SOURCE, TARGET, probe=optional), network(SOURCE, TARGET))
    assert len(optional) == 0


def test_what_the_model_does_not_go_on_with_cannot_be_edited() -> None:
    """A recurrent decoder shows all its steps together; edits act on the single steps, each once."""
    torch.manual_seed(0)
    recurrent = build_translator(RecurrentConfig(width=16), 20, 20, joint=True).eval()
    plain, doubled = (
        Probe("decoder.0.cross.weights"),
        Probe("decoder.0.cross.*", edits={"decoder.0.cross.*weights": double}),
    )
    recurrent(SOURCE, TARGET, probe=plain)
    recurrent(SOURCE, TARGET, probe=doubled)
    first = doubled["decoder.0.cross.weights"][:, :, 0]
    torch.testing.assert_close(first, 2.0 * plain["decoder.0.cross.weights"][:, :, 0])
    torch.testing.assert_close(first, doubled["decoder.0.cross.0.weights"][:, :, 0])
    for name in ("decoder.0.cross.weights", "decoder.0.cross.*value_norms"):
        with pytest.raises(ConfigError, match=r"nothing to edit called .*nearest: .*decoder\.0\.cross\.0\."):
            recurrent(SOURCE, TARGET, probe=Probe(edits={name: double}))
    recurrent(SOURCE, TARGET, probe=Probe(edits={"decoder.0.cross.9.weights": double}))  # a step that came not to be


def double(value: torch.Tensor) -> torch.Tensor:
    return 2.0 * value


def test_edits_of_one_name_come_after_each_other() -> None:
    probe = Probe("words", edits={"words": lambda value: value + 1.0}).with_edits({"words": lambda value: value * 2.0})
    assert probe.see("words", torch.tensor(3.0)).item() == 8.0
    assert probe["words"].item() == 8.0


def test_gradients_of_what_was_seen(network: Transformer) -> None:
    probe = Probe("encoder.embedding", gradients=True)
    network(SOURCE, TARGET, probe=probe)[0, 2, 5].backward()
    gradient = probe["encoder.embedding"].grad
    assert gradient is not None
    assert gradient[0].abs().sum() > 0
    assert gradient[1].abs().sum() == 0  # another sentence of the batch has no say


def test_unseen_name_is_named() -> None:
    with pytest.raises(KeyError, match=r"decoder\.9"):
        Probe("*")["decoder.9"]

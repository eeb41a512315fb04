"""Mixed precision: float32 is untouched, bfloat16 is close to it, resumes to the last bit and says what it costs here."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.data.batches import Batch
from regard.errors import ConfigError, RegardError
from regard.models.build import build_classifier, build_language_model, build_translator
from regard.models.config import (
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    RecurrentConfig,
    TransformerConfig,
)
from regard.ops.loss import consistent_cross_entropy, smoothed_cross_entropy
from regard.training import precision as module
from regard.training.loss import batch_loss
from regard.training.mixed import ComputedNetwork, bfloat16_copy, can_copy
from regard.training.precision import Precision, choose_precision, processor
from training.runs import assert_same_run, logged, run, started

CPU = torch.device("cpu")
SMALL = {"layers": 2, "width": 32, "heads": 2, "feed_forward": 64, "dropout": 0.0}


def translator(**changes: Any) -> nn.Module:
    torch.manual_seed(1)
    return build_translator(TransformerConfig.parse({**SMALL, **changes}), 40, 40, True)


def batch() -> Batch:
    generator = torch.Generator().manual_seed(2)
    source, target = (torch.randint(1, 39, (6, length), generator=generator) for length in (7, 5))
    source[0, 4:], target[1, 3:] = 39, 39
    start = torch.full((6, 1), 39)
    return Batch(source, torch.cat([start, target[:, :-1]], dim=1), target, tuple(range(6)), int((target != 39).sum()))


def gradients(network: nn.Module, precision: str) -> tuple[float, list[Tensor]]:
    computed = ComputedNetwork(network, precision)
    loss, _ = batch_loss(computed.refreshed(), batch(), 0.1, CPU)  # type: ignore[arg-type]
    return loss.item(), computed.gradients(loss)


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(
    "changes",
    [{}, {"positions": "relative"}, {"norm_kind": "rms", "activation": "swiglu"}, {"norm": "post"}, {"copy": True}],
)
def test_gradients_in_bfloat16_are_those_of_float32_but_for_its_rounding(changes: dict[str, Any]) -> None:
    network = translator(**changes)
    loss, exact = gradients(network, "float32")
    low_loss, low = gradients(network, "bfloat16")
    rounded = deepcopy(network)
    with torch.no_grad():
        for weight in rounded.parameters():
            weight.copy_(weight.bfloat16())
    _, floor = gradients(
        rounded, "float32"
    )  # so much does rounding the weights alone change, in a network as small as this
    assert low_loss != loss
    assert low_loss == pytest.approx(loss, rel=2e-3)
    assert {gradient.dtype for gradient in low} == {torch.float32, torch.bfloat16}  # of linear maps the latter
    for (name, _), found, expected, least in zip(network.named_parameters(), low, exact, floor, strict=True):
        if not name.endswith("key.bias"):  # it moves no softmax: its gradient is rounding alone
            assert relative(found, expected) < 0.05 + 2 * relative(least, expected), name


def test_the_network_in_float32_is_the_network_itself() -> None:
    network = translator()
    assert ComputedNetwork(network, "float32").refreshed() is network


def test_only_the_products_are_in_bfloat16_and_follow_the_weights() -> None:
    network = translator()
    computed = ComputedNetwork(network, "bfloat16")
    copy = computed.refreshed()
    low = {name for name, weight in copy.named_parameters() if weight.dtype == torch.bfloat16}
    assert "encoder.0.mixer.query.weight" in low
    assert not any("embedding" in name or "norm" in name for name in low)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(1.0)
    assert computed.refreshed() is copy
    for cast, weight in zip(copy.parameters(), network.parameters(), strict=True):
        assert torch.equal(cast, weight.to(cast.dtype))
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}


def test_every_transformer_has_a_copy_and_other_networks_have_none() -> None:
    language = LanguageTransformerConfig.parse({**SMALL})
    labels = ClassifierTransformerConfig.parse({**SMALL})
    recurrent = RecurrentConfig.parse({"kind": "recurrent", "width": 16})
    assert can_copy(translator())
    assert can_copy(build_language_model(language, 40, 16))
    assert can_copy(build_classifier(labels, 40, 3))
    assert not can_copy(translator(score="additive"))
    assert not can_copy(build_translator(recurrent, 40, 40, True))
    hidden = bfloat16_copy(build_classifier(labels, 40, 3)).hidden(batch().source, batch().source[:, :0])  # type: ignore[operator]
    assert hidden.dtype == torch.bfloat16


@pytest.mark.parametrize("outputs", [9, 10])
def test_the_mixed_loss_is_that_of_its_rounded_inputs(outputs: int) -> None:
    """Its logits are rounded once, so it is compared with the loss of the rounded hidden states and table in float32."""
    torch.manual_seed(3)
    hidden, table = torch.randn(700, 16).bfloat16(), torch.randn(10, 16)
    targets = torch.randint(0, outputs, (700,))
    rounded = table.bfloat16().float()
    for loss in (
        lambda h, t: smoothed_cross_entropy(h, t, targets, 0.1, outputs=outputs),
        lambda h, t: consistent_cross_entropy(h.view(2, 350, 16), t, targets[:350], 0.1, 2.0, outputs=outputs),
    ):
        low = hidden.clone().requires_grad_(), table.clone().requires_grad_()
        wide = hidden.float().requires_grad_(), rounded.clone().requires_grad_()
        (found, nll), (expected, expected_nll) = loss(*low), loss(*wide)
        assert found.dtype == nll.dtype == torch.float32
        assert found.item() == pytest.approx(expected.item(), rel=2e-3)
        assert nll.item() == pytest.approx(expected_nll.item(), rel=2e-3)
        found.backward()
        expected.backward()
        found_gradients, expected_gradients = [x.grad for x in low], [x.grad for x in wide]
        assert [gradient.dtype for gradient in found_gradients] == [torch.bfloat16, torch.float32]
        for one, other in zip(found_gradients, expected_gradients, strict=True):
            assert relative(one.float(), other) < 0.02


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with bfloat16 products."""
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: True)


def test_auto_asks_the_processor_then_looks_at_the_size_then_measures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wide = translator(width=128, layers=1)
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: False)
    assert "has no bfloat16 products" in choose_precision("auto", wide, CPU).shown
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: True)
    assert choose_precision("auto", translator(), CPU).shown == (
        "float32 (products of width 32 are too small to gain from bfloat16)"
    )
    additive = translator(score="additive", width=128, layers=1)
    assert choose_precision("auto", additive, CPU).shown == (
        "float32 (this kind of network has not been tried in bfloat16)"
    )
    ratios = iter([1.6, 0.7])
    monkeypatch.setattr(module, "block_ratio", lambda block: next(ratios))
    assert choose_precision("auto", wide, CPU) == Precision(
        "bfloat16", "a block of width 128 trains 1.60 times as fast in bfloat16, measured here"
    )
    assert choose_precision("auto", wide, CPU).name == "bfloat16"  # from the cache
    shutil.rmtree(tmp_path / "cache")
    assert choose_precision("auto", wide, CPU).name == "float32"


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b'{"a": "b"}'])
def test_a_damaged_cache_is_measured_again(content: bytes, native: None, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/bfloat16.json").write_bytes(content)
    assert choose_precision("auto", translator(width=128, layers=1), CPU).name in ("float32", "bfloat16")
    assert json.loads((tmp_path / "cache/bfloat16.json").read_bytes())


def test_the_timed_ratios_are_numbers_and_draw_no_random_numbers_of_the_run() -> None:
    torch.manual_seed(4)
    block = translator().encoder[0]  # type: ignore[index]
    before = torch.get_rng_state()
    assert module.block_ratio(block) > 0  # type: ignore[arg-type]
    assert module.product_ratio(32, CPU) > 0
    assert torch.equal(torch.get_rng_state(), before)


def test_a_run_in_bfloat16_is_resumed_to_the_last_bit(settings: dict[str, Any], tmp_path: Path) -> None:
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    run(settings, straight, precision="bfloat16")
    run(settings, tmp_path / "other", precision="float32")
    assert logged(straight, "step")[0]["loss"] != logged(tmp_path / "other", "step")[0]["loss"]

    def stop(event: Any) -> None:
        if event.name == "step" and event.step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, stopped, stop, precision="bfloat16")
    finished, _ = run(settings, stopped, precision="bfloat16")
    assert_same_run(stopped, straight)
    assert finished.metrics is not None
    assert finished.metrics["precision"] == "bfloat16"


def test_a_run_goes_on_in_the_precision_in_which_it_began(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun where `auto` was bfloat16, resumed where it would be float32."""
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(module, "NARROWEST", 1)
        patch.setattr(module, "multiplies_bfloat16", lambda device: True)
        patch.setattr(module, "block_ratio", lambda block: 2.0)

        def stop(event: Any) -> None:
            if event.name == "step" and event.step == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(settings, out, stop)
        assert logged(out, "started")[0]["precision"].startswith("bfloat16 (a block of width 16 trains 2.00 times")
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: False)
    again = started(settings, out)
    here = processor(CPU)
    assert again.precision == "bfloat16"
    assert (
        f"resumed with processor {here}, started with {here} with BF16: results may differ in the last bits"
        in again.notes
    )
    assert any(f"{here} has no bfloat16 products and emulates them" in note for note in again.notes)


def test_a_processor_without_bfloat16_warns_of_the_slowdown(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: False)
    monkeypatch.setattr(module, "product_ratio", lambda width, device: 0.01)
    run(settings, tmp_path / "run", precision="bfloat16", max_steps=1)
    [note] = [note for note in logged(tmp_path / "run", "started")[0]["notes"] if "bfloat16" in note]
    assert note == (
        f"train.precision = 'bfloat16': {processor(CPU)} has no bfloat16 products and emulates them; a product of width 16 "
        "takes 100.0 times as long as in float32, and training up to as many; use auto or float32"
    )


def test_an_unknown_precision_and_a_network_without_one_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"train\.precision") as refused:
        run(settings, tmp_path / "run", precision="float16")
    assert "\n" not in str(refused.value)
    with pytest.raises(
        ConfigError, match="on the CPU only Transformers with dot-product scores train in it, not Recurrent"
    ):
        run({**settings, "model": {"kind": "recurrent", "width": 16}}, tmp_path / "run", precision="bfloat16")

"""LoRA: the sums and gradients by hand and against autograd, frozen weights, exact resume, every precision and optimiser."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.func import functional_call

from regard.bundle.locate import find_bundle
from regard.errors import ConfigError, RegardError
from regard.layers.linear import Linear
from regard.layers.parts import weight_parts
from regard.models.build import build_classifier, build_language_model, build_translator
from regard.models.config import (
    BagConfig,
    ClassifierTransformerConfig,
    LanguageRecurrentConfig,
    RecurrentConfig,
    TransformerConfig,
)
from regard.settings import merged
from regard.tasks.fine_tuning import run_settings
from regard.training.events import Started, Step
from regard.training.lora import LowRank, adapted_maps
from regard.training.lora_config import MAPS, WHOLE, LoraConfig
from training.runs import (
    Child,
    Undisturbed,
    die,
    kept,
    logged,
    on_step,
    pointed,
    run,
    small_settings,
    started,
    steps,
    stop_after,
)

SMALL = {"width": 16, "heads": 2, "feed_forward": 32, "layers": 1}


def translator() -> nn.Module:
    torch.manual_seed(3)
    return build_translator(TransformerConfig.parse(SMALL), 30, 30, joint=True).eval()


def low_rank(network: nn.Module, **changes: Any) -> LowRank:
    config = LoraConfig.parse({"rank": 4, **changes})
    return LowRank(network, config, seed=5)


def shaken(module: LowRank) -> LowRank:
    """B of no special value, as after some steps."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return module


def test_the_sum_and_its_gradients_by_hand() -> None:
    network = nn.Sequential(Linear(2, 2, bias=False))
    network[0].weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    lora = LowRank(network, LoraConfig(rank=1, alpha=3.0), seed=1)
    a, b = (dict(lora.named_parameters())[f"0.weight.lora_{name}"] for name in "ab")
    a.data, b.data = torch.tensor([[1.0, -1.0]]), torch.tensor([[2.0], [0.5]])
    lora.merge()
    assert network[0].weight.tolist() == [[1.0 + 6.0, 2.0 - 6.0], [3.0 + 1.5, 4.0 - 1.5]]  # W + 3 B A
    of_a, of_b = lora.gradients([torch.tensor([[1.0, 0.0], [0.0, 2.0]])])
    assert of_a.tolist() == [[3 * 2.0 * 1.0, 3 * 0.5 * 2.0]]  # 3 B^T dW
    assert of_b.tolist() == [[3 * 1.0], [3 * -2.0]]  # 3 dW A^T


@pytest.mark.parametrize("whole", [(), ("norms", "biases")])
def test_gradients_are_those_of_autograd_through_the_sum(whole: tuple[str, ...]) -> None:
    network = translator()
    base = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    lora = shaken(low_rank(network, modules=["linear", "embeddings"], whole=whole))
    source, target = torch.arange(1, 13).view(2, 6), torch.arange(3, 13).view(2, 5)
    own = dict(lora.named_parameters())
    weights: dict[str, torch.Tensor] = {}
    for name, weight in base.items():
        if f"{name}.lora_a" in own:
            weights[name] = weight + lora.scale * own[f"{name}.lora_b"] @ own[f"{name}.lora_a"]
        else:
            weights[name] = own.get(name, weight)
    loss = functional_call(network, weights, (source, target)).square().mean()
    expected = torch.autograd.grad(loss, list(own.values()))
    lora.merge()
    changed = lora.changed(list(network.parameters()))
    ours = torch.autograd.grad(network(source, target).square().mean(), changed)
    assert len(own) > 20
    for name, gradient, other in zip(own, lora.gradients(ours), expected, strict=True):
        torch.testing.assert_close(gradient, other, msg=name, atol=1e-5, rtol=1e-4)


def test_it_starts_with_the_numbers_of_the_base() -> None:
    network = translator()
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    low_rank(network, modules=["linear", "embeddings"], whole=["norms"]).merge()
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


def test_names_of_parts_select_their_maps() -> None:
    network = translator()

    def chosen(*modules: str) -> set[str]:
        return set(adapted_maps(network, LoraConfig(rank=1, modules=modules)))

    assert chosen("feed_forward") == {
        f"{side}.0.feed_forward.{name}.weight" for side in ("encoder", "decoder") for name in ("up", "down")
    }
    assert chosen("cross_attention") == {
        f"decoder.0.cross.{name}.weight" for name in ("query", "key", "value", "output")
    }
    values = {"encoder.0.mixer.value.weight", "decoder.0.mixer.value.weight", "decoder.0.cross.value.weight"}
    assert chosen("values") == values
    assert chosen("linear") == chosen("attention", "cross_attention", "feed_forward")
    assert chosen("embeddings") == chosen("output") == {"target.embedding.weight"}  # tied
    assert chosen("linear", "embeddings") == {name for name, weight in network.named_parameters() if weight.dim() == 2}


def test_every_name_of_a_part_is_of_some_network() -> None:
    networks = [
        translator(),
        build_translator(RecurrentConfig.parse({"width": 8, "layers": 1}), 30, 30, joint=True),
        build_classifier(ClassifierTransformerConfig.parse(SMALL), 30, 3),
        build_language_model(LanguageRecurrentConfig.parse({"width": 8, "layers": 1}), 30, 9),
    ]
    every = {part for network in networks for own in weight_parts(network).values() for part in own}
    assert every == {*MAPS, *WHOLE}


def test_what_cannot_be_adapted_is_refused() -> None:
    network = translator()
    with pytest.raises(ConfigError, match=r"train.lora.rank = 17: above the smaller side of .*, 16 x 16; at most 16"):
        adapted_maps(network, LoraConfig(rank=17))
    with pytest.raises(
        ConfigError, match=r"train.lora.modules 'recurrent': Transformer has no such maps; it has attention, "
    ):
        adapted_maps(network, LoraConfig(modules=("recurrent",)))
    bag = build_classifier(BagConfig(), 30, 3)
    with pytest.raises(ConfigError, match="'linear': Bag has no such maps; it has no linear maps, so train all of it"):
        adapted_maps(bag, LoraConfig())
    with pytest.raises(ConfigError, match=r"train.lora.whole 'norms': Bag has no such weights"):
        LowRank(bag, LoraConfig(whole=("norms",)), seed=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lora": {}}, "train.lora needs train.start"),
        ({"lora": {"rank": 0}}, "train.lora.rank = 0: input should be greater than or equal to 1"),
        (
            {"lora": {"modules": ["kernels"]}},
            "train.lora.modules = ['kernels']: input should be 'linear', 'attention', 'cross_attention'",
        ),
        ({"lora": {"ranks": 2}}, "unknown key 'train.lora.ranks'; did you mean 'train.lora.rank'?"),
        ({"lora": 8}, "train.lora = 8: expected a table of settings"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        run_settings(merged(small_settings(tmp_path), {"train": changes}))
    assert message in str(error.value)


def test_adamw_moves_it_unless_another_is_asked_for(undisturbed: Undisturbed) -> None:
    base = str(undisturbed.run())

    def optimiser(**train: Any) -> tuple[str, float]:
        chosen = run_settings({"data": undisturbed.settings["data"], "train": {"start": base, **train}}).train
        return chosen.optimizer, chosen.learning_rate

    assert optimiser() == ("muon", 8e-3)
    assert optimiser(lora={}) == ("adamw", 1e-3)
    assert optimiser(lora={}, optimizer="muon") == ("muon", 8e-3)
    assert optimiser(lora={}, learning_rate=0.5) == ("adamw", 0.5)


def further(undisturbed: Undisturbed, out: Path, *listeners: Any, **changes: Any) -> list[Any]:
    """Fine-tune the undisturbed run with LoRA."""
    lora = {"rank": 4, **changes.pop("lora", {})}
    settings = {name: undisturbed.settings[name] for name in ("data", "train")}
    return run(settings, out, *listeners, start=str(undisturbed.run()), lora=lora, **changes)[1]


def test_only_the_additions_change_and_they_have_the_rank(undisturbed: Undisturbed, tmp_path: Path) -> None:
    events = further(undisturbed, tmp_path / "run", learning_rate=0.02, lora={"rank": 2, "modules": ["values"]})
    before = load_file(find_bundle(undisturbed.run()) / "model.safetensors")
    latest = tmp_path / "run" / pointed(tmp_path / "run", "latest")
    after = load_file(latest / "model.safetensors")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if name.endswith(".value.weight")}
    for name in changed:
        assert torch.linalg.matrix_rank((after[name] - before[name]).double(), atol=1e-6) == 2
    losses = [event.nll for event in events if isinstance(event, Step)]
    assert losses[-1] < losses[0]
    [notes] = [event.notes for event in events if isinstance(event, Started)]
    assert any(note.startswith("LoRA: 192 weights are trained beside 10,768 of the base, 1.78 %") for note in notes)


@pytest.mark.parametrize(
    "changes",
    [{"optimizer": "muon"}, {"precision": "bfloat16"}, {"diagnose_every": 4, "average": 2}, {"lora": {"merge": False}}],
    ids=["muon", "bfloat16", "average", "apart"],
)
def test_a_run_that_was_stopped_goes_on_exactly(
    changes: dict[str, Any], undisturbed: Undisturbed, tmp_path: Path
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    further(undisturbed, whole, ema=0.9, **changes)
    with pytest.raises(KeyboardInterrupt):
        further(undisturbed, cut, stop_after(8), ema=0.9, **changes)
    further(undisturbed, cut, ema=0.9, **changes)
    assert_same_checkpoints(cut, whole)


def assert_same_checkpoints(out: Path, straight: Path) -> None:
    assert steps(out) == steps(straight)
    assert kept(out) == kept(straight)
    for name in kept(straight):
        for file in (straight / "checkpoints" / name).glob("*.safetensors"):
            mine, theirs = load_file(out / "checkpoints" / name / file.name), load_file(file)
            assert mine.keys() == theirs.keys()
            assert all(torch.equal(mine[key], theirs[key]) for key in theirs), (name, file.name)


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, 7])
def test_a_run_that_was_killed_goes_on_exactly(
    step: int, undisturbed: Undisturbed, start: Callable[[Callable[[], object]], Child], tmp_path: Path
) -> None:
    further(undisturbed, tmp_path / "whole", lora={"merge": False})
    deadly = partial(further, undisturbed, tmp_path / "cut", on_step(step, die), lora={"merge": False})
    assert start(deadly).wait() == -signal.SIGKILL
    further(undisturbed, tmp_path / "cut", lora={"merge": False})
    assert_same_checkpoints(tmp_path / "cut", tmp_path / "whole")


def test_several_workers_train_it(undisturbed: Undisturbed, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        further(undisturbed, tmp_path / "two")
    finally:
        torch.set_num_threads(threads)
    further(undisturbed, tmp_path / "one")
    two, one = ([record["nll"] for record in logged(tmp_path / name, "step")] for name in ("two", "one"))
    assert two[-1] == pytest.approx(one[-1], rel=0.05)  # dropout differs


def test_another_base_does_not_go_on(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=3)
    train = {"data": settings["data"], "train": settings["train"]}
    with pytest.raises(KeyboardInterrupt):
        run(train, tmp_path / "run", stop_after(8), start=str(tmp_path / "base"), lora={"rank": 2})
    (tmp_path / "base").rename(tmp_path / "old")
    run(settings, tmp_path / "base", max_steps=4)
    with pytest.raises(RegardError, match="is another model than when this run was started; restore it"):
        started(train, tmp_path / "run", start=str(tmp_path / "base"), lora={"rank": 2})

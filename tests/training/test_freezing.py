"""`train.freeze` and `train.layer_decay`: which weights move, how far, in one process and in two, and to the last bit after a resume."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.bundle.locate import find_bundle
from regard.errors import ConfigError
from regard.layers.block import Block
from regard.models.build import build_classifier, build_language_model, build_translator
from regard.models.config import (
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    RecurrentConfig,
    TransformerConfig,
)
from regard.tasks.bundles import load_bundle
from regard.training.config import TrainConfig
from regard.training.freezing import freeze, trained_parameters
from regard.training.layer_rates import rate_factors
from regard.training.optimizer import Optimizer
from regard.training.precision import block_ratio
from training.runs import assert_same_run, run, small_settings, stop_after

SMALL: dict[str, Any] = {"layers": 3, "width": 16, "heads": 2, "feed_forward": 16}


def translator(joint: bool = True, **changes: Any) -> nn.Module:
    return build_translator(TransformerConfig(**SMALL, **changes), 20, 20, joint)


def frozen(network: nn.Module, *parts: str) -> set[str]:
    freeze(network, parts)
    return {name for name, _ in network.named_parameters()} - trained_parameters(network).keys()


def starting(network: nn.Module, *prefixes: str) -> set[str]:
    return {name for name, _ in network.named_parameters() if name.startswith(prefixes)}


def test_parts_are_modules() -> None:
    for parts, prefixes in (
        (["encoder"], ["encoder"]),
        (["encoder.1"], ["encoder.1."]),
        (["decoder.0.cross", "encoder.2.mixer.query"], ["decoder.0.cross.", "encoder.2.mixer.query."]),
        (["embedding"], ["source.embedding", "target.embedding"]),
        (["embeddings", "head"], ["source.embedding", "target.embedding", "output"]),
        (["target.embedding"], ["target.embedding"]),
    ):
        network = translator(joint=False, tie=False)
        assert frozen(network, *parts) == starting(network, *prefixes), parts
    network = translator(positions="learned", embedding_norm=True)
    assert frozen(network, "encoder") == starting(network, "encoder", "source.positions", "source.norm")
    network = translator()
    assert frozen(network, "norm") == {name for name, _ in network.named_parameters() if "norm" in name}
    recurrent = build_translator(RecurrentConfig(layers=2, width=16), 20, 20, True)
    assert frozen(recurrent, "encoder.1") == {
        name for name, _ in recurrent.named_parameters() if name.startswith("encoder.") and "_l1" in name
    }


def test_a_tied_weight_is_frozen_under_each_of_its_names() -> None:
    network = translator()
    assert frozen(network, "source.embedding") == {"target.embedding.weight"}
    with pytest.raises(
        ConfigError, match=r"names 'head', but the outputs of this network are its embedding \(model.tie\)"
    ):
        freeze(translator(), ["head"])


def test_unknown_parts_and_freezing_everything_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        freeze(translator(), ["encodr"])
    assert str(caught.value) == (
        "train.freeze: this network has no part 'encodr'; its parts are embedding, encoder, encoder.0 to encoder.2, "
        "decoder, decoder.0 to decoder.2, norm"
    )
    with pytest.raises(
        ConfigError,
        match=r"has no part 'decoder'; its parts are embedding, encoder, encoder.0 to encoder.2, head, norm",
    ):
        freeze(build_classifier(ClassifierTransformerConfig(**SMALL), 20, 3), ["decoder"])
    with pytest.raises(
        ConfigError, match=r"train.freeze = \['embedding', 'encoder', 'decoder'\]: nothing is left to train"
    ):
        freeze(translator(), ["embedding", "encoder", "decoder"])


def test_frozen_weights_have_no_place_in_the_optimiser() -> None:
    for optimizer in ("muon", "adamw", "adam", "sgd"):
        network = translator()
        freeze(network, ["encoder", "embedding"])
        made = Optimizer(network, TrainConfig(optimizer=optimizer), 2)
        names = {name.partition("/")[0] for name in made.tensors()}
        assert names == starting(network, "decoder"), optimizer
        dealt = [parameter for share in range(2) for parameter in made.share(share)]
        assert {id(one) for one in dealt} == {id(one) for one in trained_parameters(network).values()}


def test_rates_fall_from_the_top_of_each_stack() -> None:
    factors = rate_factors(translator(joint=False, encoder_layers=2, positions="relative"), 0.5)
    assert factors["decoder.2.cross.query.weight"] == 1.0
    assert factors["decoder.0.feed_forward.up.bias"] == 0.25
    assert factors["encoder.1.around_mixer.norm.weight"] == 1.0
    assert factors["encoder.0.mixer.query.weight"] == 0.5
    assert (
        factors["source.embedding.weight"]
        == factors["target.embedding.weight"]
        == factors["encoder_bias.table"]
        == 0.125
    )
    assert factors["encoder_norm.weight"] == factors["decoder_norm.weight"] == 1.0
    recurrent = rate_factors(build_translator(RecurrentConfig(layers=2, width=16), 20, 20, True), 0.5)
    assert {
        name: recurrent[name] for name in recurrent if "encoder" in name and "ih" in name and "reverse" not in name
    } == {
        "encoder.stack.layers.weight_ih_l0": 0.5,
        "encoder.stack.layers.weight_ih_l1": 1.0,
        "encoder.stack.layers.bias_ih_l0": 0.5,
        "encoder.stack.layers.bias_ih_l1": 1.0,
    }
    assert recurrent["bridge.weight"] == 1.0


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "muon"])
def test_one_step_is_that_of_one_rate_times_the_factor(optimizer: str) -> None:
    def step(decay: float) -> dict[str, Tensor]:
        torch.manual_seed(1)
        network = build_language_model(LanguageTransformerConfig(**SMALL), 20, 8)
        before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
        made = Optimizer(network, TrainConfig(optimizer=optimizer, layer_decay=decay, momentum=0.0))
        for parameter in network.parameters():
            parameter.grad = torch.randn_like(parameter)
        made.step(0.1)
        return {name: parameter.detach() - before[name] for name, parameter in network.named_parameters()}

    plain, decayed = step(1.0), step(0.5)
    for name, factor in (
        ("decoder.2.mixer.query.weight", 1.0),
        ("decoder.1.mixer.query.weight", 0.5),
        ("decoder.1.feed_forward.up.bias", 0.5),
        ("decoder.0.mixer.query.weight", 0.25),
        ("target.embedding.weight", 0.125),
        ("decoder_norm.weight", 1.0),
    ):
        torch.testing.assert_close(decayed[name], factor * plain[name], atol=1e-6, rtol=1e-4, msg=name)
        assert plain[name].abs().max() > 1e-4


@pytest.mark.parametrize(
    "changes", [{}, {"optimizer": "adamw", "weight_decay": 0.1, "ema": 0.9, "average": 2}], ids=["muon", "adamw"]
)
def test_frozen_tensors_stay_to_the_last_bit_and_a_resume_is_exact(tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=2)
    more = {"start": str(tmp_path / "base"), "freeze": ["embedding", "decoder.0.cross"], "layer_decay": 0.7, **changes}
    more |= {"max_steps": 8, "validate_every": 4, "select": "loss", "diagnose_every": 4}
    settings = {name: table for name, table in settings.items() if name not in ("text", "model")}
    run(settings, tmp_path / "whole", **more)
    before = load_bundle(find_bundle(tmp_path / "base")).model.state_dict()
    after = load_bundle(tmp_path / "whole" / "checkpoints" / "step-00000008").model.state_dict()
    still = {name for name in before if torch.equal(before[name], after[name])}
    assert still == {name for name in before if "embedding" in name or name.startswith("decoder.0.cross.")}
    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "cut", stop_after(5), **more)
    run(settings, tmp_path / "cut", **more)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


def test_a_team_of_two_freezes_too(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run(settings, tmp_path / "run", freeze=["encoder"], max_steps=3, validate_every=3)
        run(settings, tmp_path / "more", freeze=["encoder"], max_steps=1, validate_every=3)
    finally:
        torch.set_num_threads(threads)
    first, third = (load_bundle(find_bundle(tmp_path / name)).model.state_dict() for name in ("more", "run"))
    moved = {name for name in first if not torch.equal(first[name], third[name])}
    assert moved
    assert not any(name.startswith("encoder") for name in moved)


def test_a_part_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    with pytest.raises(ConfigError, match=r"train.freeze: this network has no part 'head2'"):
        run(settings, tmp_path / "run", freeze=["head2"])
    assert not (tmp_path / "run").exists()


def test_parts_may_be_given_as_one_text() -> None:
    for given in ("embedding,encoder.0", "embedding, encoder.0", ["embedding", "encoder.0"]):
        assert TrainConfig.model_validate({"freeze": given}).freeze == ("embedding", "encoder.0")
    assert TrainConfig.model_validate({"freeze": ""}).freeze == ()


def test_the_speed_of_a_frozen_block_can_be_measured() -> None:
    network = translator()
    freeze(network, ["encoder.0", "decoder.0.mixer"])
    for block in (network.get_submodule("encoder.0"), network.get_submodule("encoder.1")):
        assert isinstance(block, Block)
        assert block_ratio(block) > 0

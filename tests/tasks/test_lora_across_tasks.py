"""LoRA with a base of another task, labels or vocabulary: what is new is trained in full, and frozen parts stay as they are."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from regard.bundle.bundle import read_network
from regard.bundle.locate import find_bundle
from regard.errors import ConfigError
from regard.layers.parts import weight_parts
from regard.settings import merged
from regard.tasks.bundles import open_bundle
from regard.training.events import Started
from regard.training.freezing import freeze
from tasks.transfer_bases import Home
from training.runs import assert_same_run, run, stop_after

RANK = 2


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("lora"))


def values(home: Home, start: str, task: str, *, lora: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    table = {"rank": RANK, "alpha": 32.0, **(lora or {})}
    return home.values(start, task, **merged({"train": {"lora": table, "warmup": 1}}, changes))


def trained(settings: dict[str, Any], out: Path) -> tuple[nn.Module, dict[str, Tensor], tuple[str, ...]]:
    """(the network of the last step, its weights by name, the notes of the start)."""
    _, events = run(settings, out)
    [notes] = [event.notes for event in events if isinstance(event, Started)]
    network = read_network(open_bundle(out / "checkpoints" / "step-00000004"))
    return network, network.state_dict(), notes


def changed(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> set[str]:
    return {name for name in ours if name in theirs and not torch.equal(ours[name], theirs[name])}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_new_head_is_trained_in_full_and_the_maps_of_the_base_by_low_rank(
    home: Home, precision: str, tmp_path: Path
) -> None:
    network, ours, notes = trained(values(home, "mask", "classify", train={"precision": precision}), tmp_path / "run")
    theirs = read_network(open_bundle(home.base("mask"))).state_dict()
    maps = {name for name, parts in weight_parts(network).items() if "linear" in parts}
    assert maps == {name for name in maps if name.startswith("encoder.")}
    assert changed(ours, theirs) == maps
    for name in maps:
        assert int(torch.linalg.matrix_rank(ours[name] - theirs[name], rtol=1e-4)) in range(1, RANK + 1), name
    written = load_file(tmp_path / "run/checkpoints/step-00000004/optimiser.safetensors")
    raw = {name.removeprefix("weights/") for name in written if name.startswith("weights/")}
    assert raw == {"output", *(f"{name}.lora_{factor}" for name in maps for factor in "ab")}
    assert torch.equal(written["weights/output"], ours["output"])
    first = load_file(tmp_path / "run/checkpoints/step-00000002/optimiser.safetensors")
    assert not torch.equal(first["weights/output"], written["weights/output"])
    share = sum(tensor.numel() for name, tensor in written.items() if name.startswith("weights/"))
    assert any(note.startswith(f"LoRA: {share:,} weights are trained") for note in notes), notes


def test_frozen_parts_get_no_additions_and_no_training_in_full(home: Home, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"freeze": ["encoder.0", "norm"], "layer_decay": 0.5}
    lora = {"whole": ["norms", "biases"]}
    network, ours, notes = trained(values(home, "mask", "classify", lora=lora, train=changes), tmp_path / "run")
    freeze(network, changes["freeze"])
    left = sum(weight.numel() for weight in network.parameters() if not weight.requires_grad)
    [note] = [note for note in notes if "train.freeze" in note]
    assert note.startswith("LoRA: ")
    assert note.endswith(f"; train.freeze leaves {left:,} of it as they are")
    theirs = read_network(open_bundle(home.base("mask"))).state_dict()
    moved = changed(ours, theirs)
    assert moved
    assert all(name.startswith("encoder.1.") for name in moved)
    written = load_file(tmp_path / "run/checkpoints/step-00000004/optimiser.safetensors")
    assert not [name for name in written if "encoder.0." in name or "norm" in name]


def test_modules_of_which_all_are_frozen_are_refused(home: Home, tmp_path: Path) -> None:
    settings = values(home, "mask", "classify", lora={"modules": ["attention"]}, train={"freeze": ["encoder"]})
    with pytest.raises(ConfigError, match=r"modules 'attention': .* has no such maps that train\.freeze leaves"):
        run(settings, tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("lora", "message"),
    [
        ({"rank": 500}, r"train\.lora\.rank = 500: above the smaller side of"),
        ({"modules": ["recurrent"]}, r"train\.lora\.modules 'recurrent': .* has no such maps"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(
    home: Home, lora: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(values(home, "mask", "classify", lora=lora), tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("start", "task", "changes"),
    [("mask", "classify", {"train": {"ema": 0.9}}), ("mask", "translate", {"text": {"grow": 6}})],
)
def test_an_interrupted_run_goes_on_exactly(
    home: Home, start: str, task: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    settings = values(home, start, task, **changes)
    run(settings, tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "stopped", stop_after(3))
    run(settings, tmp_path / "stopped")
    assert_same_run(tmp_path / "stopped", tmp_path / "straight")


def test_an_embedding_with_new_pieces_is_trained_in_full(home: Home, tmp_path: Path) -> None:
    home.write("new.txt", [f"wxyz {'zwölf ' * (n % 3 + 1)}nümber {n}" for n in range(40)])
    settings = values(home, "language", "generate", data={"text": home.file("new.txt")}, text={"grow": 6})
    network, ours, _ = trained(settings, tmp_path / "run")
    name = next(name for name, parts in weight_parts(network).items() if "embeddings" in parts)
    written = load_file(find_bundle(tmp_path / "run") / "optimiser.safetensors")
    assert f"weights/{name}" in written
    base = read_network(open_bundle(home.base("language"))).state_dict()
    assert len(ours[name]) == len(base[name]) + 6
    last = load_file(tmp_path / "run/checkpoints/step-00000004/optimiser.safetensors")[f"weights/{name}"]
    before = load_file(tmp_path / "run/checkpoints/step-00000002/optimiser.safetensors")[f"weights/{name}"]
    assert not torch.equal(last, before)


@pytest.mark.parametrize(
    ("start", "task", "data"), [("mask", "classify", None), ("classifier", "classify", "moods.tsv")]
)
def test_an_adapter_of_another_network_is_refused(
    home: Home, start: str, task: str, data: str | None, tmp_path: Path
) -> None:
    changes = {} if data is None else {"data": {"labelled": home.file(data)}}
    with pytest.raises(
        ConfigError, match=r"train\.lora\.merge = false: .* another task, network, labels or vocabulary"
    ):
        run(values(home, start, task, lora={"merge": False}, **changes), tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()


def test_replay_of_other_labels_is_refused_and_so_is_their_test(home: Home, tmp_path: Path) -> None:
    moods, old = home.file("moods.tsv"), home.file("labelled.tsv")
    settings = home.values("classifier", "classify", data={"labelled": moods, "replay": {"labelled": old}})
    with pytest.raises(
        ConfigError, match=r"data\.replay\.labelled = .*has the labels bad, good, and the texts of the run"
    ):
        run(settings, tmp_path / "run")
    settings = home.values("classifier", "classify", data={"labelled": moods, "replay": {"test_labelled": old}})
    with pytest.raises(ConfigError, match=r"data\.replay: an old test set .* has the labels bad, good, the run calm"):
        run(settings, tmp_path / "run")


def test_an_old_test_of_another_task_is_refused(home: Home, tmp_path: Path) -> None:
    settings = home.values("mask", "classify", data={"replay": {"test_labelled": home.file("labelled.tsv")}})
    with pytest.raises(ConfigError, match=r"is scored by task 'classify', and the base .* is a model to pretrain"):
        run(settings, tmp_path / "run")


def test_replayed_text_is_read_with_the_grown_vocabulary(home: Home, tmp_path: Path) -> None:
    home.write("new.txt", [f"wxyz {'zwölf ' * (n % 3 + 1)}nümber {n}" for n in range(40)])
    replay = {"text": home.file("text.txt"), "share": 0.3}
    data = {"text": home.file("new.txt"), "replay": replay}
    result, _ = run(home.values("language", "generate", data=data, text={"grow": 6}), tmp_path / "run")
    assert result.objective is not None
    objective: Any = result.objective
    assert objective._replayed.tokenizers.source.vocabulary == objective.codecs.source.vocabulary

"""A run takes weights from a base of another task or kind of network: which tensors, which settings, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.bundle.bundle import read_network
from regard.errors import RegardError
from regard.settings import merged
from regard.tasks.bundles import open_bundle
from regard.tasks.fine_tuning import base_of, run_settings
from regard.tasks.transfer import Transfer
from regard.training.events import Started, Step, Validated
from tasks.transfer_bases import Home, compare_rows
from training.runs import assert_same_run, logged, run, stop_after


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("transfer"))


CASES: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    # base, task, settings, the notes: taken, new, left out
    "mask-classify": ("mask", "classify", {}, ["embedding", "encoder.0-1, encoder_norm", "new: output"]),
    "mask-tag": ("mask", "classify", {"data": {"labelled": "tagged", "labels_of": "token"}}, ["new: output"]),
    "mask-translate": ("mask", "translate", {}, ["new: decoder.0-1, decoder_norm"]),
    "denoise-translate": ("denoise", "translate", {}, []),
    "span-translate": ("span", "translate", {}, []),
    "prefix-translate": ("prefix", "translate", {}, []),
    "prefix-classify": ("prefix", "classify", {}, ["left out: source.segment, target.segment"]),
    "prefix-transformer": ("prefix", "translate", {"model": {"kind": "transformer"}}, ["new: decoder.0-1.cross"]),
    "language-classify": ("language", "classify", {}, ["new: output"]),
    "language-translate": ("language", "translate", {}, ["decoder.0-1.cross"]),
    "language-mask": ("language", "pretrain", {"text": {"grow": 0}}, []),
    "language-prefix": ("language", "pretrain", {"objective": {"kind": "prefix"}}, ["segment"]),
    "translator-classify": ("translator", "classify", {}, ["left out: decoder.0-1, decoder_norm"]),
    "translator-generate": ("translator", "generate", {}, ["left out: encoder.0-1, encoder_norm, decoder.0-1.cross"]),
    "two-classify": ("two", "classify", {}, ["left out: target.embedding, decoder.0-1, decoder_norm"]),
    "two-generate": (
        "two",
        "generate",
        {},
        ["left out: source.embedding, encoder.0-2, encoder_norm, decoder.0-1.cross"],
    ),
    "mask-denoise": ("mask", "pretrain", {"objective": {"kind": "denoise"}}, ["new: decoder.0-1, decoder_norm"]),
    "denoise-mask": ("denoise", "pretrain", {"objective": {"kind": "mask"}}, ["left out: decoder.0-1, decoder_norm"]),
    "mask-generate": ("mask", "generate", {}, []),
    "classifier-labels": ("classifier", "classify", {"data": {"labelled": "moods"}}, ["pooler", "new: output"]),
    "classifier-translate": ("classifier", "translate", {}, ["left out: pooler, output"]),
    "learned-classify": ("learned", "classify", {}, ["source.positions, source.norm"]),
    "relative-classify": ("relative", "classify", {}, ["encoder_bias"]),
    "gru-classify": ("gru", "classify", {}, ["embedding, encoder", "new: output", "left out: bridge, decoder"]),
}


def case(home: Home, name: str) -> tuple[nn.Module, Transfer, nn.Module]:
    start, task, changes, _ = CASES[name]
    labelled = changes.get("data", {}).get("labelled")
    return home.started(
        start, task, **merged(changes, {} if labelled is None else {"data": {"labelled": home.file(f"{labelled}.tsv")}})
    )


@pytest.mark.parametrize("name", CASES)
def test_every_tensor_is_taken_new_or_left_out_as_listed(home: Home, name: str) -> None:
    network, transfer, base = case(home, name)
    ours, theirs = network.state_dict(), base.state_dict()
    torch.manual_seed(99)
    fresh = transfer_target(transfer).state_dict()
    assert transfer.taken
    for tensor, source in transfer.taken.items():
        rows = len(ours[tensor]) if ours[tensor].shape == theirs[source].shape else 0
        if "embedding" in tensor:
            compare_rows(transfer, tensor, ours[tensor], theirs[source])
        else:
            assert rows, f"{tensor}: {list(ours[tensor].shape)} of {list(theirs[source].shape)}"
            assert torch.equal(ours[tensor], theirs[source]), tensor
    assert all(torch.equal(ours[tensor], fresh[tensor]) for tensor in transfer.new)
    tied = {id(tensor): name for name, tensor in network.state_dict(keep_vars=True).items()}
    assert len({*transfer.taken, *transfer.new}) == len(tied), "each tensor once"
    assert set(transfer.left_out).isdisjoint(transfer.taken.values())
    notes = "\n".join(transfer.notes())
    for part in CASES[name][3]:
        assert part in notes, notes


def transfer_target(transfer: Transfer) -> nn.Module:
    """A new network of the same settings."""
    network: nn.Module = transfer.bundle.network()
    return network


def ids_of(home: Home, start: str) -> Tensor:
    tokenizer = open_bundle(home.base(start)).tokenizers.source
    return torch.tensor([[*tokenizer.encode("fine film number 7 again"), 0]])


@pytest.mark.parametrize(
    "name", ["mask-classify", "mask-translate", "denoise-mask", "translator-classify", "learned-classify"]
)
def test_the_encoder_reads_as_that_of_the_base(home: Home, name: str) -> None:
    network, _, base = case(home, name)
    ids = ids_of(home, CASES[name][0])
    assert torch.equal(encoded(network, ids), encoded(base.eval(), ids))


def encoded(network: Any, ids: Tensor) -> Tensor:
    from regard.models.blocks import run_encoder

    x, real = network.source(ids)
    x, _ = run_encoder(network.encoder, x, real, network.encoder_bias, None)
    normed: Tensor = network.encoder_norm(x)
    return normed


@pytest.mark.parametrize("name", ["language-classify", "relative-classify"])
def test_a_classifier_from_a_language_model_reads_from_the_left_as_that_does(home: Home, name: str) -> None:
    network, _, base = case(home, name)
    ids = ids_of(home, CASES[name][0])
    seen = causal_states(network, ids)
    torch.testing.assert_close(seen, base.eval().hidden(ids[:, :0], ids), atol=1e-6, rtol=1e-6)  # type: ignore[operator]
    changed = ids.clone()
    changed[0, -2] = 20
    assert torch.equal(causal_states(network, changed)[:, :-2], seen[:, :-2]), "no token sees a later one"
    padded = torch.cat([ids, torch.full((1, 3), network.source_pad)], dim=1)  # type: ignore[arg-type]
    torch.testing.assert_close(network(padded), network(ids))


def causal_states(network: Any, ids: Tensor) -> Tensor:
    from regard.models.blocks import run_causal

    x, _ = network.source(ids)
    states: Tensor = network.encoder_norm(run_causal(network.encoder, x, network.encoder_bias, None))
    return states


def test_the_same_network_for_another_task_gives_the_same_outputs(home: Home) -> None:
    for name in ("denoise-translate", "prefix-translate"):
        network, transfer, base = case(home, name)
        ids = ids_of(home, CASES[name][0])
        assert (transfer.new, transfer.left_out, transfer.whole) == ((), (), False)
        assert torch.equal(network(ids, ids), base.eval()(ids, ids))


def test_blocks_that_the_base_has_not_are_new_and_others_left_out(home: Home) -> None:
    _, deeper, _ = home.started("mask", "classify", model={"layers": 3, "encoder_layers": 3})
    assert "new: encoder.2, output" in "\n".join(deeper.notes())
    _, lower, _ = home.started("mask", "classify", model={"encoder_layers": 1})
    assert "left out: encoder.1" in "\n".join(lower.notes())


def test_the_base_fills_the_settings(home: Home) -> None:
    settings = run_settings(home.values("mask", "translate"))
    assert settings.model.model_dump()["norm_kind"] == "rms"
    assert (settings.model.width, settings.model.depth, settings.text.joint) == (16, (2, 2), True)
    assert run_settings(home.values("language", "classify")).model.causal
    assert run_settings(home.values("two", "generate")).model.depth == (0, 2)
    assert run_settings(home.values("prefix", "translate")).model.kind == "prefix"
    deep = run_settings(home.values("mask", "translate", model={"decoder_layers": 5}))
    assert deep.model.depth == (2, 5)
    again = run_settings(settings.model_dump(mode="json"))
    assert again == settings


def complaint(values: Mapping[str, Any]) -> str:
    with pytest.raises(RegardError) as caught:
        base_of(run_settings(values))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_cannot_be_taken_is_refused_by_name(home: Home) -> None:
    mask = home.base("mask")
    where = f"training starts from {mask}, where it is"
    assert (
        complaint(home.values("mask", "classify", model={"width": 32})) == f"model.width = 32: {where} 16; leave it out"
    )
    assert complaint(home.values("mask", "translate", model={"norm": "post"})) == (
        f"model.norm = 'post': {where} 'pre'; leave it out"
    )
    assert complaint(home.values("mask", "classify", model={"preset": "base"})) == (
        f"model.preset = 'base': {where} 'tiny'; leave it out"
    )
    assert complaint(home.values("mask", "classify", model={"mixer": "window"})) == (
        f"model.mixer = ['window', 'window']: {where} ['attention', 'attention']; leave it out"
    )
    assert complaint(home.values("mask", "classify", text={"kind": "char"})) == (
        f"text.kind = 'char': training starts from {mask}, whose vocabulary has 'bpe'; leave it out"
    )
    assert "whose vocabulary has True" in complaint(home.values("mask", "translate", text={"joint": False}))
    for kind in ("recurrent", "bag"):
        assert complaint(home.values("mask", "classify", model={"kind": kind})) == (
            f"model.kind = '{kind}': {mask} is a model of kind 'encoder', which has nothing in common with it; leave it out"
        )
    bag = home.base("bag")
    assert complaint(home.values("bag", "generate")) == (
        f"train.start = '{bag}': a bag of words, which has nothing but a weight for each word and label; "
        "start from a model with an embedding"
    )
    series = {"task": "forecast", "data": {"series": "a.csv"}, "train": {"start": str(mask)}}
    assert "which has nothing in common with one for 'forecast'; start from one for the same task" in complaint(series)
    assert "text.reserved" in complaint(home.values("mask", "translate", text={"reserved": {"languages": ["de"]}}))


def test_a_markov_model_is_refused_with_the_reason(home: Home, tmp_path: Path) -> None:
    values = {"task": "generate", "data": home.data["generate"], "text": {"kind": "char"}, "model": {"kind": "markov"}}
    run(values, tmp_path / "markov")
    start = {"task": "classify", "data": home.data["classify"], "train": {"start": str(tmp_path / "markov")}}
    assert "a Markov model, which has counts and no weights that a network could take" in complaint(start)


def test_a_run_across_tasks_lists_freezes_stops_early_and_goes_on_exactly(home: Home, tmp_path: Path) -> None:
    values = home.values(
        "mask", "classify", train={"freeze": ["embedding", "encoder.0"], "layer_decay": 0.5, "ema": 0.9}
    )
    result, events = run(values, tmp_path / "whole", max_steps=6)
    [started] = [event for event in events if isinstance(event, Started)]
    directory = home.base("mask")
    assert started.notes[:3] == (
        f"it starts from {directory}, a model for task 'pretrain'",
        "taken: embedding, encoder.0-1, encoder_norm (9,536 of 9,568 weights)",
        "new: output",
    )
    assert any(note.startswith("train.freeze leaves ") for note in started.notes)
    first = next(event for event in events if isinstance(event, Step | Validated))
    assert isinstance(first, Step), "nothing is known of the labels before the first step"
    record = json.loads((tmp_path / "whole" / "transfer.json").read_text(encoding="utf-8"))
    assert record["new"] == ["output"]
    assert record["taken"]["encoder.0.mixer.query.weight"] == "encoder.0.mixer.query.weight"
    assert logged(tmp_path / "whole", "started")[0]["notes"] == list(started.notes)
    stored, before = (
        read_network(open_bundle(path)).state_dict() for path in (tmp_path / "whole" / result_of(result), directory)
    )
    moved = [name for name in stored if name in before and not torch.equal(stored[name], before[name])]
    assert moved, "what is not frozen learns"
    assert all(name.startswith(("encoder.1.", "encoder_norm.")) for name in moved)
    with pytest.raises(KeyboardInterrupt):
        run(values, tmp_path / "cut", stop_after(3), max_steps=6)
    run(values, tmp_path / "cut", max_steps=6)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
    still, _ = run(values, tmp_path / "patient", max_steps=40, patience=1, select="loss", learning_rate=1e-30)
    assert still.reason == "patience"


def result_of(result: Any) -> str:
    assert result.metrics is not None
    return str(result.metrics["model"])

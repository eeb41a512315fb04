"""A base whose vocabulary grows: no vector of an old piece moves, and no output of old pieces."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.bundle.locate import find_bundle
from regard.errors import RegardError
from regard.settings import merged
from regard.tasks.bundles import open_bundle
from regard.tasks.fine_tuning import base_of, run_settings
from regard.tasks.table import TASKS
from regard.tasks.transfer import Transfer
from regard.text.growing import spelled
from regard.text.vocabulary import Vocabulary
from regard.training.events import Step, Validated
from tasks.transfer_bases import Home, compare_rows
from training.runs import assert_same_run, run, stop_after


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("transfer"))


def grown(home: Home, start: str, task: str, **changes: Any) -> tuple[Any, Transfer, Any]:
    """`started` on a text with words of its own, for which the vocabulary grows."""
    lines = [f"wxyz {'zwölf ' * (n % 3 + 1)}nümber {n}" for n in range(40)]
    home.write("new.txt", lines)
    home.write("new.xx", lines)
    home.write("new.yy", [line[::-1] for line in lines])
    data = (
        {"src": home.file("new.xx"), "tgt": home.file("new.yy")}
        if task == "translate"
        else {"text": home.file("new.txt")}
    )
    network, transfer, base = home.started(start, task, **merged({"data": data, "text": {"grow": 12}}, changes))
    return network, transfer, base.eval()


@pytest.mark.parametrize(
    ("start", "task"),
    [("translator", "translate"), ("two", "translate"), ("language", "generate"), ("untied", "translate")],
)
def test_a_grown_vocabulary_keeps_every_vector_and_every_output_of_old_pieces(
    home: Home, start: str, task: str
) -> None:
    network, transfer, base = grown(home, start, task)
    assert transfer.whole
    name = "target.embedding.weight"
    own, other = transfer.vocabularies(name)
    compare_rows(transfer, name, network.state_dict()[name], base.state_dict()[name])
    pieces = [piece for piece in own.pieces if piece not in other]
    assert len(pieces) == 12
    assert f"its vocabulary of {len(other):,} grows by 12 pieces, to {len(own):,}" in list(transfer.notes())
    tokenizers = open_bundle(home.base(start)).tokenizers
    for piece in pieces[:3]:
        row = network.state_dict()[name][own.id_of(piece)]
        parts = spelled(tokenizers.target, piece)
        torch.testing.assert_close(row, base.state_dict()[name][parts].mean(dim=0))
    ids, source = old_ids(home, start, own, other), old_ids(home, start, *source_vocabularies(transfer))
    columns = torch.tensor([own.id_of(piece) for piece in other.pieces[:-1]])
    with torch.no_grad():
        now, before = network(source[0], ids[0])[..., columns], base(source[1], ids[1])
    torch.testing.assert_close(now, before, atol=1e-6, rtol=1e-6)


def source_vocabularies(transfer: Transfer) -> tuple[Vocabulary, Vocabulary]:
    name = next((name for name in transfer.taken if name.startswith("source.embedding")), "target.embedding.weight")
    return transfer.vocabularies(name)


def old_ids(home: Home, start: str, own: Vocabulary, other: Vocabulary) -> tuple[Tensor, Tensor]:
    """Some old pieces by their new ids and by their old ones."""
    pieces = [piece for piece in other.pieces[2:-1] if piece not in other.reserved.names][::37]
    return torch.tensor([own.ids_of(pieces)]), torch.tensor([other.ids_of(pieces)])


def test_reserved_pieces_are_added_when_a_vocabulary_grows(home: Home) -> None:
    network, transfer, base = grown(home, "language", "pretrain", text={"grow": 5})
    name, source = "source.embedding.weight", "target.embedding.weight"
    own, other = transfer.vocabularies(name)
    assert own.reserved.mask == 2
    assert other.reserved.mask is None
    assert len(own) == len(other) + 6
    compare_rows(transfer, name, network.state_dict()[name], base.state_dict()[source])
    assert "add it with text.grow = 0" in complaint_of_pieces(home)


def complaint_of_pieces(home: Home) -> str:
    settings = run_settings(home.values("language", "pretrain"))
    with pytest.raises(RegardError) as caught:
        TASKS["pretrain"].objective(settings, base_of(settings), lambda *_: None)
    return str(caught.value)


def test_a_grown_model_is_trained_from_step_0_and_goes_on_exactly(home: Home, tmp_path: Path) -> None:
    home.write("new.txt", [f"wxyz {'zwölf ' * (n % 3 + 1)}nümber {n}" for n in range(40)])
    values = home.values("language", "generate", data={"text": home.file("new.txt")}, text={"grow": 12})
    _, events = run(values, tmp_path / "whole")
    first = next(event for event in events if isinstance(event, Step | Validated))
    assert isinstance(first, Validated)
    with pytest.raises(KeyboardInterrupt):
        run(values, tmp_path / "cut", stop_after(3))
    run(values, tmp_path / "cut")
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
    assert "▁zwölf" in open_bundle(find_bundle(tmp_path / "cut")).tokenizers.source.vocabulary


def test_growth_that_cannot_be_is_refused(home: Home) -> None:
    with pytest.raises(
        RegardError, match=r"text.grow = 5 adds to the vocabulary of a base model; name one with train.start"
    ):
        run_settings({"task": "generate", "data": home.data["generate"], "text": {"grow": 5}})
    with pytest.raises(RegardError, match=r"text.grow: a bag of words has a weight for each piece and label"):
        home.started("bag", "classify", text={"grow": 5, "reserved": {"mask": True}})

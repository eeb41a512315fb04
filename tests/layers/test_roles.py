"""Roles of parameters: declared by modules, and for those that nobody declares told by shape."""

import pytest
import torch
from torch import nn

from contracts.cases import CASES, LABELLING, VOCABULARY
from regard.layers.mixers import MIXERS, MixerOptions
from regard.layers.roles import parameter_roles

OPTIONS = MixerOptions(
    width=8, heads=2, causal=False, dropout=0.0, max_positions=9, rotary=None, score="scaled_dot", score_width=None
)


LATER = ("short.weight", "skip", "_mixing", "segment")  # of mixers and networks that format 1 did not have


def by_name(name: str, parameter: nn.Parameter) -> bool:
    """Whether the optimiser of format 1 took a parameter for a matrix."""
    return (
        parameter.dim() == 2
        and "embedding" not in name
        and name.removeprefix("network.") != "output"
        and not name.endswith("table")
    )


@pytest.mark.parametrize("case", [*CASES, *LABELLING], ids=lambda case: case.name)
def test_the_matrices_are_those_of_before(case) -> None:
    network = case.build(VOCABULARY)
    roles = parameter_roles(network)
    assert list(roles) == [name for name, _ in network.named_parameters()]
    for name, parameter in network.named_parameters():
        if name.endswith(LATER):
            continue
        assert (roles[name] == "matrix") == by_name(name, parameter), name
        assert (roles[name] == "table") == (parameter.dim() == 2 and not by_name(name, parameter)), name


def test_maps_along_positions_and_channels_are_no_matrices() -> None:
    roles = parameter_roles(MIXERS["hyena"](OPTIONS)) | parameter_roles(MIXERS["linformer"](OPTIONS))
    assert {name: role for name, role in roles.items() if name.endswith(LATER)} == {
        "short.weight": "vector",
        "skip": "vector",
        "key_mixing": "table",
        "value_mixing": "table",
    }


class Extension(nn.Module):
    """A module of a user, who declares nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding_gain = nn.Parameter(torch.full((4,), 0.5))
        self.filters = nn.Parameter(torch.full((2, 3, 4), 0.25))
        self.map = nn.Parameter(torch.eye(4))


def test_the_mark_of_a_written_text_is_a_table_as_embeddings_are() -> None:
    case = next(case for case in CASES if case.name.startswith("prefix"))
    assert parameter_roles(case.build(VOCABULARY))["target.segment"] == "table"


def test_what_is_not_declared_has_the_role_of_its_shape() -> None:
    assert parameter_roles(Extension()) == {"embedding_gain": "vector", "filters": "vector", "map": "matrix"}


def test_a_shared_parameter_has_one_role_under_its_first_name() -> None:
    table = nn.Embedding(5, 4)
    shared = nn.Linear(4, 5, bias=False)
    shared.weight = table.weight
    assert parameter_roles(nn.ModuleList([table, shared])) == {"0.weight": "table"}

"""The mixers are compared on equal terms: as many weights, nothing but the mixer differs, and recall is counted right."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parent.parent


def benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def mixers() -> ModuleType:
    return benchmark("mixers")


@pytest.fixture(scope="module")
def recall() -> ModuleType:
    return benchmark("recall")


@pytest.mark.parametrize("task", ["shakespeare", "wikitext2"])
def test_every_mixer_has_as_many_weights_as_attention(mixers: ModuleType, task: str) -> None:
    files = {"text": Path("a.txt"), "valid_text": Path("b.txt"), "out": Path()}
    values: dict[str, Any] = mixers.TASKS[task](files)
    wanted = mixers.parameters(mixers.with_mixer(values, "attention"))
    for mixer in mixers.MIXERS:
        if mixer not in mixers.NOT_CAUSAL:
            own = mixers.equal_parameters(values, mixer)
            assert mixers.parameters(own) == pytest.approx(wanted, rel=0.01)
            assert {key: value for key, value in own.items() if key != "model"} == {
                key: value for key, value in values.items() if key != "model"
            }


def test_a_step_of_recall_has_pairs_that_there_are_places_and_keys_for(recall: ModuleType) -> None:
    cell = recall.Cell("hyena", ("single", "repeated"), 512, 8, 100, 2048, 1e-3, symbols=6)
    tasks = [cell.task(step, 256) for step in range(200)]
    assert {task.form for task in tasks} == {"single", "repeated"}
    assert {task.length for task in tasks} == {64, 128, 256}
    assert {task.pairs for task in tasks} == {2, 3, 4, 5, 6}
    assert {task.symbols for task in tasks} == {6}
    assert sum(task.length == 256 for task in tasks) > 80  # half of them, and none of the shorter ones by chance


def test_cells_of_recall_with_other_symbols_or_widths_are_other_files(recall: ModuleType) -> None:
    usual = recall.Cell("delta", ("single",), 512, 8, 100, 2048, 1e-3)
    assert usual.name == "single-512-8-delta-1"
    assert replace(usual, symbols=16).name == "single-512-8-16-symbols-delta-1"
    assert replace(usual, width=32).name == "single-512-8-width-32-delta-1"


class LastOnly:
    """Answers the query at the end by reading the text backwards, and all others wrong."""

    def eval(self) -> None: ...

    def train(self) -> None: ...

    def hidden(self, _: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*tokens.shape, 99)
        for row, text in enumerate(tokens.tolist()):
            logits[
                row, -1, next(text[place + 1] for place in range(len(text) - 2, -1, -1) if text[place] == text[-1])
            ] = 1
        return logits

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden


@pytest.mark.parametrize(("form", "expected"), [("single", 1.0), ("repeated", 1.0), ("multi", 0.0)])
def test_repeated_pairs_are_tested_at_the_end_alone(recall: ModuleType, form: str, expected: float) -> None:
    """The last token of `multi` is a query only by chance, and is not with this seed."""
    assert recall.accuracy(LastOnly(), recall.Recall(form, 80, 4, 8), seed=3, tested=3) == expected

"""The mixers are compared on equal terms: as many weights, and nothing but the mixer differs."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def mixers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mixers_benchmark", ROOT / "benchmarks" / "mixers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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

"""The generated task of `benchmarks/copying.py`: only a network that copies says words that it never saw."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["transformer", "prefix", "recurrent"])
def test_words_that_were_never_seen_are_said_by_copying_alone(kind: str) -> None:
    spec = importlib.util.spec_from_file_location("copying_benchmark", ROOT / "benchmarks" / "copying.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    seen, unseen, pad = module.split(2000, 200)
    shares = {}
    for copy in (False, True):
        network = module.network_of(kind, copy, pad)
        module.train(network, seen, 400, pad)
        shares[copy] = module.exact(network, unseen, pad)
    assert shares[False] < 0.1
    assert shares[True] > 0.9

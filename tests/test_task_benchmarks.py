"""A trial of the benchmarks of the tasks is never printed as their result."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of the benchmarks. They import each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["tasks", "text_tasks", "transfer"])
def test_a_trial_has_a_home_of_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = benchmark(name, monkeypatch)
    monkeypatch.setattr(sys.modules["cells"] if name != "tasks" else module, "table", lambda out: f"cells of {out}")
    for scale, home in ((None, tmp_path), ("1", tmp_path), ("0.01", tmp_path / "scale-0.01")):
        given = [] if scale is None else ["--scale", scale]
        monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path), *given, "--table"])
        module.main()
        assert capsys.readouterr().out == f"cells of {home}\n"


def test_a_finished_trial_is_not_taken_for_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = benchmark("tasks", monkeypatch)
    scales: list[float] = []

    def played(name: str, cell: object, corpora: object, scale: float) -> dict[str, object]:
        scales.append(scale)
        return {"minutes": 1.0, "steps": 4, "parameters": 1, "valid": {"exact_match": scale}}

    monkeypatch.setattr(tasks, "played", played)
    for scale in ("0.25", "1"):
        monkeypatch.chdir(tmp_path)
        given = ["--out", "out", "--data", ".", "--cells", "brackets", "--scale", scale]
        monkeypatch.setattr(sys, "argv", ["tasks", *given])
        tasks.main()
    assert scales == [0.25, 1.0]
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tasks", "--out", "out", "--table"])
    tasks.main()
    assert "exact_match 1.0000" in (table := capsys.readouterr().out)
    assert "0.2500" not in table

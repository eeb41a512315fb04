"""The notebooks of docs/notebooks, run as a reader runs them: from top to bottom, in a folder of their own."""

import re
from pathlib import Path
from typing import Any

import pytest

from documented import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
PAGES = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_results(path: Path) -> None:
    """Results would be of another version, and make the file large. Every link of its text leads to a file."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert path.stat().st_size < 20_000
    for cell in notebook.cells:
        for link in re.findall(r"\]\(([^)#]+)", cell.source if cell.cell_type == "markdown" else ""):
            assert (path.parent / link).exists(), link


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_notebook_of_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It trains, translates, and shows the explanation in the page itself; a translation is likelier than a false one."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    folder = tmp_path / "reader"
    folder.mkdir()
    notebook: Any = nbformat.read(ROOT / "docs/notebooks/attention.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    shown = {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    [page] = [
        output["data"]["text/html"]
        for source, outputs in shown.items()
        if source.endswith("\nexplanation")
        for output in outputs
        if output.output_type == "execute_result"
    ]
    assert page.startswith('<iframe srcdoc="')
    assert "Le chat noir dort." in page
    [numbers] = [outputs[0]["text"] for source, outputs in shown.items() if "perplexity per piece" in source]
    right, wrong = map(float, re.findall(r"[\d.]+\d", numbers))
    assert right < wrong
    pictures = [output for outputs in shown.values() for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 1
    assert list(folder.iterdir()) == []  # it leaves nothing beside itself

"""`import regard`: the names it promises, whatever was imported before."""

import subprocess
import sys

import pytest

FIRST = [
    "import regard.training.config",
    "import regard.api",
    "pass",
]


@pytest.mark.parametrize("first", FIRST)
def test_train_stays_a_function(first: str) -> None:
    code = f"import regard; {first}; import regard.training.run; assert regard.train.__name__ == 'train' and callable(regard.train)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_loading_does_not_import_torch() -> None:
    code = "import sys, regard; regard.load, regard.Translator, regard.Translation; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_unknown_names_are_refused() -> None:
    import regard

    with pytest.raises(AttributeError, match="nothing_here"):
        regard.nothing_here  # noqa: B018
    assert set(regard.__all__) == {
        "Classifier",
        "Forecaster",
        "export",
        "import_model",
        "improve",
        "Explanation",
        "FailureAnalysis",
        "SearchOptions",
        "Tagger",
        "Translator",
        "Writer",
        "Run",
        "RunSettings",
        "Translation",
        "__version__",
        "extend",
        "load",
        "load_ensemble",
        "merge",
        "probe",
        "quantize",
        "train",
    }


def test_the_names_are_listed_and_nothing_is_imported_for_it() -> None:
    code = (
        "import sys; before = set(sys.modules); import regard; names = dir(regard); "
        "print(*sorted(set(sys.modules) - before)); print(*names)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported, names = result.stdout.splitlines()
    assert [module for module in imported.split() if module.startswith("regard")] == ["regard"]
    assert not {"torch", "numpy", "pydantic"} & set(imported.split())
    assert {"load", "train", "extend", "Translator", "__version__"} <= set(names.split())


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    import regard

    assert regard.__version__ == version("regard")

"""What users get: the wheel and the sdist, and the wheel in an empty environment without torch.

The slow tests install packages from the package index.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from documented import ROOT
from regard.extras import EXTRA_OF
from regard.tasks.load import load_translator
from tasks.bundles import SPLIT, random_bundle

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PARTS = (
    "src",
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "requirements.lock",
)
BUILD = """
import sys
from setuptools import build_meta as backend
out = sys.argv[1]  # the backend changes the arguments
backend.build_sdist(out)
backend.build_wheel(out)
"""
MOST_BYTES = 300_000_000
"""The most that the base install may have, compiled files included, without pip."""


def source_tree(directory: Path) -> Path:
    """A copy of what is built: building in the checkout would leave files behind."""
    directory.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, directory / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / part, directory / part)
    return directory


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the sdist."""
    home = tmp_path_factory.mktemp("built")
    source = source_tree(home / "source")
    subprocess.run([sys.executable, "-c", BUILD, str(home)], cwd=source, check=True, capture_output=True)
    return home


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "regard").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"regard/py.typed", "regard/explain/page/report.js"} <= wanted
    assert wanted <= inside


def test_the_sdist_builds_the_package_and_has_no_part_of_the_tests(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "CHANGELOG.md", "CITATION.cff", "src/regard/explain/page/report.js"} <= names
    assert not any(name.startswith("tests") for name in names)


def test_what_pip_is_told(built: Path) -> None:
    """Torch is wanted by the extra alone, and every extra that an error message names exists."""
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    base = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert not any(line.startswith(("torch", "jaxtyping")) for line in base)
    assert any(line.startswith("ctranslate2") for line in base)
    assert set(EXTRA_OF.values()) <= set(metadata.get_all("Provides-Extra", []))
    for module, extra in EXTRA_OF.items():
        package = {"PIL": "pillow", "markdown_it": "markdown-it-py"}.get(module, module).replace("_", "-")
        listed = [line.replace("_", "-") for line in PROJECT["optional-dependencies"][extra]]
        assert any(line.startswith(package) for line in listed), module


def test_the_lock_has_every_package_that_is_named() -> None:
    """`make setup` installs the package with --no-deps: what it needs must be in requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").lower().replace("_", "-")
    pinned = {line.partition("==")[0] for line in lock.splitlines() if "==" in line}
    extras = PROJECT["optional-dependencies"]
    for requirement in (*PROJECT["dependencies"], *extras["all"], *extras["dev"], *extras["train"], *extras["images"]):
        name = requirement.partition(">=")[0].lower().replace("_", "-")
        assert name.startswith("regard[") or name in pinned, requirement


@pytest.fixture(scope="module")
def base(built: Path) -> Path:
    """The scripts of an environment with the wheel and what it needs, nothing else."""
    environment = built / "environment"
    venv.create(environment, with_pip=True)
    [wheel] = built.glob("*.whl")
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(ROOT / "requirements.lock"), str(wheel)], check=True, env=outside())
    return environment / "bin"


def outside() -> dict[str, str]:
    """The environment variables of a process that must not see this checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(base: Path, home: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(base / "regard"), *arguments]
    result = subprocess.run(command, cwd=home, env=outside(), capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stderr
    return result


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_an_empty_environment_translates_and_evaluates(base: Path, tmp_path: Path) -> None:
    random_bundle(tmp_path / "model")
    sources, targets = [pair.french for pair in SPLIT.test], [pair.english for pair in SPLIT.test]
    for name, lines in (("in.fr", sources), ("ref.en", targets)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = subprocess.run([base / "python", "-c", "import torch"], env=outside(), capture_output=True, check=False)
    assert found.returncode == 1
    reference = load_translator(tmp_path / "model", engine="torch")
    translated = run(base, tmp_path, "translate", "model", "-i", "in.fr").stdout
    assert translated.splitlines() == [one.text for one in reference.translate(sources)]
    scores = json.loads(run(base, tmp_path, "evaluate", "model", "--src", "in.fr", "--ref", "ref.en", "--json").stdout)
    forced = reference.score(sources, targets)
    rate = -sum(score.logprob for score in forced) / sum(len(score.token_logprobs) for score in forced)
    assert scores["perplexity"] == pytest.approx(math.exp(rate), rel=1e-4)
    assert set(scores) >= {"bleu", "chrf", "ter", "perplexity"}
    refused = run(base, tmp_path, "train", "--out", "made", code=2)
    assert refused.stderr == 'regard: training needs torch, which is not installed; pip install "regard[train]"\n'


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_base_install_is_small(base: Path) -> None:
    """With compiled files, without pip. benchmarks/install.py tells the sizes of its parts."""
    [site] = base.parent.glob("lib/python*/site-packages")
    shutil.rmtree(site / "pip")
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    assert size <= MOST_BYTES, f"{size:,} bytes"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_make_dist_checks_wheel_sdist_and_citation(tmp_path: Path) -> None:
    source = source_tree(tmp_path / "source")
    shutil.copy(ROOT / "Makefile", source)
    command = ["make", "-C", str(source), "dist", f"PYTHON={sys.executable}"]
    result = subprocess.run(command, env=outside(), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("PASSED") == 2
    assert "Citation metadata are valid" in result.stdout

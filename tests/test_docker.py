"""The Dockerfile: linted by hadolint, its stages run as nobody special and say whether they are well; built where docker is there."""

import fnmatch
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from documented import ROOT, check_program

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")


def stages() -> dict[str, list[str]]:
    """The instructions of each stage by its name, comments left out."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in LINES:
        if line.startswith("FROM "):
            name = line.split(" AS ")[1]
            found[name] = []
        elif line and not line.startswith("#"):
            found[name].append(line)
    return found


def values(name: str, instruction: str) -> list[str]:
    return [line.split(" ", 1)[1] for line in stages()[name] if line.startswith(f"{instruction} ")]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing() -> None:
    result = subprocess.run([str(HADOLINT), str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


@pytest.mark.parametrize("name", ["train", "translate"])
def test_a_stage_is_unprivileged_and_says_whether_it_is_well(name: str) -> None:
    [user] = values(name, "USER")
    assert int(user) > 0
    added = stages()[name].index(f"USER {user}")
    assert any(f"useradd --create-home --uid {user} " in line for line in stages()[name][:added])
    assert not any(line.startswith(("RUN ", "COPY ", "ADD ")) for line in stages()[name][added:])
    [health], [entry], [command] = (values(name, key) for key in ("HEALTHCHECK", "ENTRYPOINT", "CMD"))
    check = json.loads(health.split(" CMD ")[1])
    for words in (check, [*json.loads(entry), *json.loads(command)]):
        if words[1:] not in (["--help"], ["--version"]):
            check_program(list(words))


def test_translate_is_the_default_and_has_no_torch() -> None:
    assert list(stages()) == ["wheel", "train", "translate"]
    assert not any("torch" in line or "regard[" in line for line in stages()["translate"])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [installed] = re.findall(r'"regard\[(\w+)\]"', DOCKERFILE)
    assert installed in extras


def test_what_is_copied_is_sent_to_docker() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = [line[1:] for line in ignored if line.startswith("!")]
    assert ignored[1] == "*"
    for line in LINES:
        if line.startswith("COPY ") and "--from=" not in line:
            for path in line.split()[1:-1]:
                assert (ROOT / path).exists(), line
                assert any(fnmatch.fnmatch(path, pattern) for pattern in sent), f"{path} is in .dockerignore"


@pytest.mark.slow
def test_it_builds_and_translates(tmp_path: Path) -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("docker does not run here")
    bundle = Path(__file__).parent / "format1/translate-transformer"
    build = [docker, "build", "--quiet", "--target", "translate", str(ROOT)]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    run = [docker, "run", "--rm", "--interactive", "--volume", f"{bundle}:/model:ro", image]
    result = subprocess.run(run, input="je suis étudiant\n", capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1
    user = subprocess.run(
        [docker, "run", "--rm", "--entrypoint", "id", image, "-u"], capture_output=True, text=True, check=True
    )
    assert user.stdout.strip() != "0"

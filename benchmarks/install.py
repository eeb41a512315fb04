"""The base install: its size on disk, and how long commands take to start in it. docs/install.md has the numbers.

    python benchmarks/install.py BUNDLE            makes an environment in a temporary directory, and installs this repository there
    python benchmarks/install.py BUNDLE --in DIR   keeps the environment in DIR, and measures it again the next time

BUNDLE is a translator that CTranslate2 runs. Times are the least of `--times` runs, after one that fills the caches.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def installed(environment: Path) -> Path:
    """The environment with this repository and the pinned versions of its dependencies, without torch."""
    if not (environment / "pyvenv.cfg").exists():
        venv.create(environment, with_pip=True)
        pip = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--constraint", str(ROOT / "requirements.lock"), str(ROOT)], check=True)
    return environment


def sizes(environment: Path) -> dict[str, float]:
    """Megabytes of each package in site-packages, compiled files included, largest first. pip is left out: nothing needs it to run."""
    [site] = environment.glob("lib/python*/site-packages")
    found = {}
    for part in site.iterdir():
        if part.name.partition("-")[0] != "pip":
            files = [part] if part.is_file() else [file for file in part.rglob("*") if file.is_file()]
            found[part.name] = sum(file.stat().st_size for file in files) / 1e6
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def seconds(command: list[str], text: str, times: int) -> float:
    """The least time of a command, in seconds."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    least = float("inf")
    for number in range(times + 1):
        began = time.perf_counter()
        subprocess.run(command, input=text, env=clean, capture_output=True, text=True, check=True)
        if number:
            least = min(least, time.perf_counter() - began)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--in", dest="environment", type=Path)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        environment = installed(options.environment or Path(scratch) / "environment")
        packages = sizes(environment)
        print(f"{platform.machine()}, Python {platform.python_version()}")
        print(f"site-packages without pip: {sum(packages.values()):.0f} MB")
        print("  " + ", ".join(f"{name} {size:.0f}" for name, size in list(packages.items())[:9]))
        regard = str(environment / "bin/regard")
        line = "je suis étudiant\n"
        for name, command in (
            ("python -c pass", [str(environment / "bin/python"), "-c", "pass"]),
            ("regard --version", [regard, "--version"]),
            ("regard --help", [regard, "--help"]),
            ("regard translate, one line", [regard, "translate", str(options.bundle)]),
            ("regard translate --beam 5, one line", [regard, "translate", str(options.bundle), "--beam", "5"]),
        ):
            print(f"{name:38} {seconds(command, line, options.times):.2f} s")


if __name__ == "__main__":
    sys.exit(main())

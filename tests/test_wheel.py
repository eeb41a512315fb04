"""What is built is what is used: the page's assets and the type marker are inside the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    copy = tmp_path / "source"  # building in the checkout would leave a build directory behind
    subprocess.run(
        ["cp", "-r", ROOT / "src", ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "LICENSE", _made(copy)],
        check=True,
    )
    subprocess.run([*build, str(copy)], check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "regard").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"regard/py.typed", "regard/explain/page/report.js"} <= wanted
    assert wanted <= inside


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory

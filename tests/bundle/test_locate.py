"""A bundle is found by its own path or by its run's, and every way of not finding it has its own message."""

import os
import shutil
from pathlib import Path

import pytest

from regard.bundle.locate import find_bundle, read_pointer, write_pointer
from regard.errors import BundleError

FIRST, SECOND = "checkpoints/step-00000500", "checkpoints/step-00001000"


@pytest.fixture
def run(tmp_path: Path, bundle: Path) -> Path:
    """A run with two checkpoints and no pointers."""
    directory = tmp_path / "run"
    for name in (FIRST, SECOND):
        shutil.copytree(bundle, directory / name)
    (directory / "config.json").write_text("{}")  # the run's own, which does not make it a bundle
    return directory


def test_best_before_latest(run: Path) -> None:
    write_pointer(run, "latest", SECOND)
    assert find_bundle(run) == run / SECOND
    write_pointer(run, "best", run / FIRST)
    assert find_bundle(str(run)) == run / FIRST
    assert (run / "best").read_text() == FIRST + "\n"
    write_pointer(run, "best", SECOND)
    assert read_pointer(run, "best") == run / SECOND
    assert find_bundle(run / FIRST) == run / FIRST


def test_a_run_named_by_a_relative_path(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    write_pointer(Path("."), "best", Path(FIRST))
    assert find_bundle(".").resolve() == run / FIRST
    monkeypatch.chdir(run.parent)
    write_pointer(Path("run"), "best", Path("run") / SECOND)
    assert find_bundle("run") == Path("run") / SECOND


def test_there_is_no_pointer(run: Path) -> None:
    assert read_pointer(run, "best") is None
    with pytest.raises(BundleError, match=r"run: a run without a checkpoint yet; .* reach its first one$"):
        find_bundle(run)
    (run / "config.json").write_text('{"train": {"validate_every": 1500, "save_every": 2000}}', encoding="utf-8")
    with pytest.raises(BundleError, match="reach its first one, after step 1,500, or stop it with Ctrl-C"):
        find_bundle(run)


@pytest.mark.parametrize(
    "content",
    ["../elsewhere", "/etc", "checkpoints/../../x", "", "\n", "a\nb", "a\0b", "x" * 4096, "x" * 10_000_000, "a secret"],
)
def test_pointers_that_lead_nowhere_or_outside(run: Path, content: str) -> None:
    (run.parent / "elsewhere").mkdir()
    write_pointer(run, "latest", FIRST)
    (run / "best").write_text(content)
    with pytest.raises(BundleError) as raised:
        find_bundle(run)
    assert str(raised.value).startswith(f"{run / 'best'}: ")
    assert "\n" not in str(raised.value)
    assert not content.strip() or content not in str(raised.value)  # it may be a link to what nobody should see


def test_a_pointer_of_other_bytes(run: Path) -> None:
    (run / "best").write_bytes(b"\xff\xfe")
    with pytest.raises(BundleError, match="best: cannot be read as a pointer"):
        find_bundle(run)


def test_a_pointer_to_a_deleted_checkpoint(run: Path) -> None:
    write_pointer(run, "best", FIRST)
    shutil.rmtree(run / FIRST)
    with pytest.raises(BundleError, match=r"best: points at checkpoints/step-00000500, which is not there"):
        find_bundle(run)


def test_a_pointer_is_never_written_to_the_outside(run: Path) -> None:
    for target in ("../x", run.parent / "bundle"):
        with pytest.raises(AssertionError):
            write_pointer(run, "best", target)
    assert not (run / "best").exists()


def test_what_is_no_bundle(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match="nowhere: no such directory"):
        find_bundle(tmp_path / "nowhere")
    with pytest.raises(BundleError, match=r"config\.json: a file, not a directory"):
        find_bundle(bundle / "config.json")
    with pytest.raises(BundleError, match="empty: neither a bundle"):
        find_bundle(tmp_path / "empty")


def test_a_bundle_without_its_manifest_is_still_a_bundle(bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    assert find_bundle(bundle) == bundle  # so that loading says what is missing


def test_a_pointer_that_is_a_link_or_a_pipe(run: Path) -> None:
    (run.parent / "secret").write_text(FIRST)
    (run / "best").symlink_to("../secret")
    with pytest.raises(BundleError, match=r"best: a link that leads out of .*run") as raised:
        find_bundle(run)
    assert FIRST not in str(raised.value)
    (run / "best").unlink()
    os.mkfifo(run / "best")
    with pytest.raises(BundleError, match="best: a named pipe, not a regular file"):
        find_bundle(run)


def test_a_path_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot be read: File name too long"):
        find_bundle(tmp_path / ("x" * 300))

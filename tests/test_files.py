"""Files and directories appear whole or not at all, whatever moment the writer dies in."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard import files
from regard.errors import DiskError
from regard.files import (
    disk_errors,
    remove_leftovers,
    remove_whole,
    to_json,
    to_json_line,
    whole_directory,
    write_whole,
)


def test_a_directory_appears_with_all_its_files(tmp_path: Path) -> None:
    with whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text("1", encoding="utf-8")
        assert not (tmp_path / "d").exists()
    assert (tmp_path / "d/a").read_text(encoding="utf-8") == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    with whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text(str(1 // 0), encoding="utf-8")
    assert (tmp_path / "d/a").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_rename_that_is_refused_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text("old", encoding="utf-8")
    rename = Path.rename

    def refused(path: Path, target: Path) -> Path:
        if target == tmp_path / "d" and not path.name.endswith("-old"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(DiskError, match="no space left"), whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text("new", encoding="utf-8")
    assert (tmp_path / "d/a").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("deadly", range(1, 5))
def test_deleted_at_one_stroke(tmp_path: Path, deadly: int) -> None:
    """A process that deletes a directory dies before its nth call: the directory is whole, or there is none."""
    (tmp_path / "d").mkdir()
    for name in "ab":
        (tmp_path / "d" / name).write_text(name, encoding="utf-8")
    script = """
import os, sys
from pathlib import Path
from regard.files import remove_whole
left = int(sys.argv[2])
def die(event, arguments):
    global left
    left -= event in ("os.rename", "os.remove", "os.rmdir")
    if left == 0:
        os._exit(9)
sys.addaudithook(die)
remove_whole(Path(sys.argv[1]))
"""
    result = subprocess.run([sys.executable, "-c", script, str(tmp_path / "d"), str(deadly)], check=False)
    assert result.returncode == 9  # a rename, two files, a directory
    remove_leftovers(tmp_path)
    left = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))]
    assert left == (["d", "d/a", "d/b"] if deadly == 1 else [])


def test_a_disk_that_refuses_a_name_still_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "d").mkdir()
    monkeypatch.setattr(Path, "rename", refused)
    remove_whole(tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("deadly", range(1, 9))
def test_killed_between_any_two_system_calls(tmp_path: Path, deadly: int) -> None:
    """A process that replaces a directory dies before its nth sync, rename or removal: the old or the new one is there, whole."""
    with whole_directory(tmp_path / "d") as staging:
        (staging / "a").write_text("old", encoding="utf-8")
    script = """
import os, shutil, sys
from pathlib import Path
from regard import files
left = int(sys.argv[2])
def dying(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return function(*arguments, **options)
    return call
files.sync = dying(files.sync)
Path.rename = dying(Path.rename)
shutil.rmtree = dying(shutil.rmtree)
with files.whole_directory(Path(sys.argv[1])) as staging:
    (staging / "a").write_text("new", encoding="utf-8")
"""
    result = subprocess.run([sys.executable, "-c", script, str(tmp_path / "d"), str(deadly)], check=False)
    assert result.returncode == (9 if deadly <= 6 else 0)  # two syncs, two renames, a sync, a removal
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert (tmp_path / "d/a").read_text(encoding="utf-8") == ("old" if deadly <= 4 else "new")


def test_a_file_is_replaced_or_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "f", "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "sync", full)
    with pytest.raises(DiskError, match="no space left"):
        write_whole(tmp_path / "f", "new")
    assert (tmp_path / "f").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space"),
        (errno.EROFS, "not permitted"),
    ],
)
def test_refusals_are_told_in_one_line(number: int, words: str) -> None:
    with pytest.raises(DiskError, match=f"there: .*{words}") as caught, disk_errors(Path("there")):
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(caught.value)


def test_files_where_directories_are_needed_and_the_other_way_round(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1", encoding="utf-8")
    (tmp_path / "directory").mkdir()
    for path in (tmp_path / "file/a", tmp_path / "file/a/b"):
        with pytest.raises(DiskError, match=f"{path}: it, or a part of its path, is a file"):
            write_whole(path, "2")
        with pytest.raises(DiskError, match=f"{path}: it, or a part of its path, is a file"), whole_directory(path):
            pass
    with pytest.raises(DiskError, match="directory: a directory is there, not a file"):
        write_whole(tmp_path / "directory", "2")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["directory", "file"]


def test_json_without_infinities() -> None:
    assert (
        to_json_line({"a": float("inf"), "b": [float("nan"), 1.5], "é": True})
        == '{"a": null, "b": [null, 1.5], "é": true}\n'
    )
    assert to_json({"a": 1}) == '{\n  "a": 1\n}\n'


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR])
def test_what_cannot_be_written_in_the_cache_names_its_variable(number: int, tmp_path: Path) -> None:
    def complaint(path: Path) -> str:
        with pytest.raises(DiskError) as caught, disk_errors(path):
            raise OSError(number, os.strerror(number))
        return str(caught.value)

    assert complaint(tmp_path / "run").endswith("choose another place")
    inside = complaint(files.cache_directory() / "corpora/1")
    assert inside.startswith(f"{files.cache_directory()}/corpora/1: ")
    assert inside.endswith("set REGARD_CACHE, which names the cache, to a directory that can be written")

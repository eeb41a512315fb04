"""Locks say who lives, leftovers of the dead go, and a full cache loses what was not used for longest."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from regard import cache
from regard.activity import watched_by
from regard.errors import ConfigError, DiskError
from regard.files import remove_whole


def entry(home: Path, name: str, size: int, used: float) -> Path:
    path = home / name
    (path / "part").mkdir(parents=True)
    (path / "part" / "file").write_bytes(b"x" * size)
    os.utime(path, (used, used))
    return path


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oldest, middle, newest = (entry(tmp_path, name, 1000, used) for used, name in enumerate("cab"))
    (tmp_path / "c.lock").touch()
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0.000002")  # 2,000 bytes
    cache.prune(tmp_path, keep=newest)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    cache.mark_used(middle)
    cache.prune(tmp_path, keep=middle)
    assert not oldest.exists()
    assert middle.exists()
    assert newest.exists()


def test_what_is_in_use_or_being_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, free, converting = (entry(tmp_path, name, 1000, number) for number, name in enumerate("abc"))
    staging = entry(tmp_path, f"d{cache.STAGING_MARK}1", 1000, 0.0)
    (tmp_path / "c.lock").touch()
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0")
    with cache.locked(used, shared=True), cache.locked(tmp_path / "c.lock"):
        cache.prune(tmp_path, keep=tmp_path / "none")
    assert used.exists()
    assert converting.exists()
    assert staging.exists()  # `remove_stale` judges it
    assert not free.exists()


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "much", "1e9"])
def test_a_quota_that_is_no_size_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(cache.QUOTA_VARIABLE, value)
    with pytest.raises(ConfigError, match=r"^REGARD_CACHE_GB = .*number of gigabytes"):
        cache.quota()


def test_the_quota_by_default_and_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.QUOTA_VARIABLE, raising=False)
    assert cache.quota() == 20 * 10**9
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0.5")
    assert cache.quota() == 5 * 10**8


def test_an_entry_being_written_is_no_leftover(tmp_path: Path) -> None:
    with ExitStack() as lock:
        with cache.new_entry(tmp_path / "a", lock) as staging:
            (staging / "file").write_text("x", encoding="utf-8")
            cache.remove_stale(tmp_path)
            assert (staging / "file").exists()
        assert (tmp_path / "a" / "file").exists()
    with pytest.raises(RuntimeError), ExitStack() as lock, cache.new_entry(tmp_path / "b", lock):
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


WRITER = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from regard.cache import new_entry, new_file
home = Path(sys.argv[1])
with ExitStack() as lock, new_entry(home / "a", lock) as staging, new_file(home / "input.partial-1"):
    (staging / "file").write_text("x")
    print("now", flush=True)
    time.sleep(300)
"""


def test_the_leftovers_of_a_killed_process_go_at_once(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        cache.remove_stale(tmp_path)
        assert len(list(tmp_path.iterdir())) == 2  # it lives
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(list(tmp_path.iterdir())) == 2
    cache.remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_link_among_the_leftovers_is_not_followed(tmp_path: Path) -> None:
    precious = entry(tmp_path / "elsewhere", "precious", 10, time.time())
    home = tmp_path / "home"
    home.mkdir()
    (home / f"x{cache.STAGING_MARK}1").symlink_to(precious)
    (home / "linked").symlink_to(precious)
    cache.remove_stale(home)
    assert (precious / "part" / "file").exists()


def test_a_cache_that_is_not_there_has_no_leftovers(tmp_path: Path) -> None:
    cache.remove_stale(tmp_path / "none")


def test_a_lock_on_a_file_that_was_replaced_meanwhile_is_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    opened = []

    def open_handle(path: Path) -> int:
        handle = os.open(path, os.O_RDWR | os.O_CREAT)
        if not opened:  # another process removes it before it is locked, and a third makes a new one
            path.unlink()
            path.touch()
        opened.append(handle)
        return handle

    handle = cache.try_lock(path, open_handle)
    assert handle is not None
    assert len(opened) == 2
    assert os.path.samestat(os.fstat(handle), path.stat())
    assert cache.try_lock(path, open_handle) is None
    os.close(handle)


def test_a_lock_of_another_is_waited_for_visibly_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LONGEST_WAIT", 0.0)
    doing: list[str] = []
    with (
        cache.locked(tmp_path),
        watched_by(lambda current: doing.append(current.doing) if current else None),
        pytest.raises(DiskError, match="another process has held this lock for 0 seconds"),
        cache.locked(tmp_path, shared=True),
    ):
        pass
    assert doing == ["waiting for another process that uses the cache"]


def test_what_cannot_be_pruned_is_not_counted_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, second, third = (entry(tmp_path, name, 1000, used) for used, name in enumerate("abc"))
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0.000002")
    monkeypatch.setattr(cache, "remove_whole", lambda path: path != stuck and remove_whole(path))
    cache.prune(tmp_path, keep=tmp_path / "none")
    assert [path.exists() for path in (stuck, second, third)] == [True, False, True]
    monkeypatch.setattr(cache, "LONGEST_WAIT", 0.0)
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0")
    with cache.locked(tmp_path):
        cache.prune(tmp_path, keep=tmp_path / "none")
    assert third.exists()


def test_a_malformed_quota_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "much")
    with pytest.raises(ConfigError), ExitStack() as lock, cache.new_entry(tmp_path / "home" / "a", lock):
        pytest.fail("the work began")
    assert not (tmp_path / "home").exists()

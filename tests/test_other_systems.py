"""What other systems lack. The verbs that use a model run where the names of Linux and POSIX that macOS or Windows do not have are removed.

Such a process is still one of Linux: paths, encodings and sharing rules of Windows are not tested here. README.md says so.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regard import foreign, locks
from regard.cache import locked
from regard.files import sync, whole_directory
from tasks.bundles import SPLIT, random_bundle

RUNS = Path(__file__).parent / "format1"
SITE = """
import os, signal, sys

OF_OS = (
    "sched_getaffinity sched_setaffinity fork forkpty register_at_fork getuid geteuid getgid getegid getpgid getpgrp killpg "
    "setsid setpgid fchdir fchmod fchown chown lchown chroot mkfifo mknod statvfs fstatvfs sysconf confstr getloadavg nice "
    "memfd_create pidfd_open posix_fadvise posix_fallocate posix_spawn sendfile sync wait3 wait4 "
    "O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NOCTTY O_SYNC"
)
OF_SIGNAL = (
    "SIGKILL SIGHUP SIGQUIT SIGPIPE SIGALRM SIGCHLD SIGUSR1 SIGUSR2 SIGSTOP SIGTSTP SIGCONT SIGWINCH SIGXCPU SIGXFSZ "
    "alarm setitimer getitimer pause pthread_kill pthread_sigmask sigwait siginterrupt"
)
for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
    for name in names.split():
        if hasattr(module, name) and name != os.environ.get("KEPT"):
            delattr(module, name)
for name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog", "readline"):
    sys.modules[name] = None
if not os.environ.get("KEPT"):
    sys.modules["torch"] = None  # which CTranslate2 imports where it is installed, and which uses what is removed
"""
REMOVED = "import os, signal; assert not hasattr(os, 'fork') and not hasattr(signal, 'SIGKILL'); "
RUN = "from regard.cli.entry import run; run()"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two bundles, some lines, and what removes the names when Python starts."""
    home = tmp_path_factory.mktemp("elsewhere")
    (home / "site").mkdir()
    (home / "site/sitecustomize.py").write_text(SITE, encoding="utf-8")
    random_bundle(home / "bundle")
    random_bundle(home / "recurrent", kind="recurrent")
    for name, lines in (
        ("in.txt", [pair.french for pair in SPLIT.test[:5]]),
        ("out.en", [pair.english for pair in SPLIT.test[:5]]),
    ):
        (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return home


def elsewhere(arguments: list[str], home: Path, kept: str = "") -> str:
    """The output of a command in a process without the names. kept: one that stays."""
    path = os.pathsep.join([str(home / "site"), str(Path(foreign.__file__).parent.parent)])
    result = subprocess.run(
        [sys.executable, "-c", REMOVED + RUN, *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": path, "KEPT": kept},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def here(arguments: list[str], home: Path) -> str:
    """The output of the same command as this system runs it."""
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, encoding="utf-8", check=True).stdout


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "translate bundle -i in.txt",
        "translate bundle -i in.txt --beam 2 --precision int8",
        "score bundle --src in.txt --tgt out.en",
        "info bundle",
        f"ls {RUNS}",
    ],
)
def test_verbs_run_without_names_of_linux(command: str, home: Path) -> None:
    assert elsewhere(command.split(), home) == here(command.split(), home)


@pytest.mark.parametrize(
    "command",
    [
        "translate bundle -i in.txt --engine torch --beam 3 --align",
        "translate bundle -i in.txt --beam 2 --time-limit 60 --json",
        "translate recurrent -i in.txt",
        f"classify {RUNS / 'classify-bag'} -i in.txt",
        f"classify {RUNS / 'classify-transformer'} -i in.txt",
        f"generate {RUNS / 'generate-markov'} --max-length 9",
        f"generate {RUNS / 'generate-transformer'} --beam 2 --max-length 9",
        "explain bundle x",
    ],
)
def test_verbs_run_on_torch_without_names_of_linux(command: str, home: Path) -> None:
    """torch itself uses `register_at_fork` wherever `sys.platform` is not Windows."""
    assert elsewhere(command.split(), home, kept="register_at_fork") == here(command.split(), home)


def test_a_file_that_is_staged_and_renamed(home: Path) -> None:
    expected = here(["translate", "bundle", "-i", "in.txt"], home)
    elsewhere(["translate", "bundle", "-i", "in.txt", "-o", "there.txt"], home)
    assert (home / "there.txt").read_text(encoding="utf-8") == expected


class Msvcrt:
    """The part of Windows' `msvcrt` that locks: a byte at the position of the file, for one handle at a time."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.locked: dict[tuple[int, int], int] = {}

    def locking(self, handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        place = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        if self.locked.setdefault(place, handle) != handle:
            raise PermissionError(13, "Permission denied")


def test_locks_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = Msvcrt()
    monkeypatch.setattr(locks, "_FLOCK", None)
    monkeypatch.setattr(locks, "_MSVCRT", system)
    path = tmp_path / "lock"
    path.write_text("content", encoding="utf-8")
    with path.open("rb") as first, path.open("rb") as second:
        assert first.read(3) == b"con"
        assert locks.lock_handle(first.fileno())
        assert not locks.lock_handle(second.fileno())
        assert first.read() == b"tent"  # the position is as it was
        [(_, place)] = system.locked
        assert place > len("content")  # a locked byte cannot be read by others
    assert not locks.is_lockable(tmp_path)
    with locked(tmp_path):  # a directory, which Windows cannot open: no lock, and no error
        pass


def test_without_any_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_FLOCK", None)
    monkeypatch.setattr(locks, "_MSVCRT", None)
    with (tmp_path / "lock").open("wb") as file:
        assert locks.lock_handle(file.fileno())


def test_windows_syncs_no_directory_and_opens_files_for_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []
    os_open = os.open

    def watched(path: Any, flags: int, *rest: Any) -> int:
        opened.append((Path(path).name, flags))
        return os_open(path, flags, *rest)

    from regard import files

    with whole_directory(tmp_path / "made") as staging:
        (staging / "file").write_bytes(b"a")
    monkeypatch.setattr(files, "_ON_WINDOWS", True)
    monkeypatch.setattr(os, "open", watched)
    sync(tmp_path / "made")
    sync(tmp_path / "made/file")
    assert opened == [("file", os.O_RDWR)]

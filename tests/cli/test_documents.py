"""`regard translate --format`: what a person types, and what is wrong with it."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.documents import OpenedDocument
from regard.cli.main import app
from regard.errors import DiskError
from tasks.bundles import random_bundle

PAGE = "<!-- c --><p>Le <b>chat</b> noir dort.</p>\n<pre>x</pre>\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("documents")
    random_bundle(home / "model")
    (home / "page.html").write_text(PAGE)
    (home / "notes.txt").write_text("Le chat.\n\nUn chien.\n")
    (home / "bad.docx").write_text("no zip")
    (home / "bad.xlf").write_text("<xliff version='1.2'>\n<a></xliff>")
    (home / "latin.md").write_bytes(b"un\ndeux\ncaf\xe9\n")
    (home / "page.pdf").write_text("x")
    (home / "taken.html").write_text("mine")
    return home


def run(home: Path, line: str, stdin: str | None = None) -> tuple[int, bytes, str]:
    before = Path.cwd()
    os.chdir(home)
    try:
        result = CliRunner().invoke(app, ["translate", "model", *line.split()], input=stdin)
    finally:
        os.chdir(before)
    message = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return result.exit_code, result.stdout_bytes, message + result.stderr


def test_a_page_keeps_its_markup(home: Path, tmp_path: Path) -> None:
    code, out, err = run(home, f"-i page.html --format auto -o {tmp_path / 'out.html'}")
    assert (code, out) == (0, b""), err
    page = (tmp_path / "out.html").read_text()
    assert page.startswith("<!-- c --><p>")
    assert page.endswith("</p>\n<pre>x</pre>\n")
    assert page.count("<b>") == page.count("</b>") == 1
    assert "chat</b>" not in page


def test_standard_streams(home: Path) -> None:
    code, out, err = run(home, "--format html", stdin=PAGE)
    assert code == 0, err
    assert out.startswith(b"<!-- c --><p>")
    code, again, _ = run(home, "-i page.html --format html -o -")
    assert again == out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-i page.html --format htlm", "--format htlm: not one of auto, text, html, md"),
        ("--format auto", "--format auto: standard input has no name; give one of text, html"),
        ("-i page.pdf --format auto", "page.pdf: its format cannot be told from its name"),
        ("-i page.html --format docx", "page.html: damaged: not a zip file"),
        ("-i bad.docx --format auto", "bad.docx: damaged: not a zip file"),
        ("-i bad.xlf --format auto", "bad.xlf:2: not well-formed XML"),
        ("-i latin.md --format auto", "latin.md:3: not UTF-8 (byte 0xe9); convert it"),
        ("-i nothing.txt --format auto", "nothing.txt: cannot be read: No such file or directory"),
        ("-i . --format text", ".: cannot be read: Is a directory"),
        ("-i page.html --format auto -o taken.html", "taken.html: it is there already; choose another place, or delete it"),
        ("-i page.html --format auto -o page.html", "-o page.html: that is what is read"),
        ("-i page.html --format auto -o out.docx", "-o out.docx: the document is html and stays so, but .docx is docx"),
        ("-i page.html --format auto -o taken.html/x.html", "a part of its path, is a file"),
        ("-i page.html --format auto --json", "--json: its output is lines, and --format auto writes a document"),
        ("-i page.html --format auto --nbest 2 --beam 2", "--nbest: its output is lines"),
        ("-i page.html --format auto --align", "--align: its output is lines"),
        ("-i notes.txt --format vtt", "notes.txt:1: WebVTT begins with the line WEBVTT"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_write_nothing(home: Path, line: str, message: str) -> None:
    before = sorted(path.name for path in home.iterdir())
    code, out, err = run(home, line)
    assert code != 0
    assert out == b""
    assert message in err
    assert sorted(path.name for path in home.iterdir()) == before
    assert (home / "taken.html").read_text() == "mine"


def test_an_interrupted_translation_writes_nothing(home: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("".join(f"Le chat numéro {number} dort.\n\n" for number in range(60_000)))
    code = "from regard.cli.main import run; run()"
    files = ["-i", str(long), "-o", str(tmp_path / "out.txt")]
    command = [sys.executable, "-c", code, "translate", str(home / "model"), "--format", "auto", "--beam", "4", *files]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out.txt")]


def test_a_closed_pipe_ends_quietly(home: Path) -> None:
    line = f"{sys.executable} -c 'from regard.cli.main import run; run()' translate {home / 'model'} --format text | head -c 1"
    text = "Le chat dort.\n\n" * 50
    result = subprocess.run(["bash", "-c", line], input=text.encode(), capture_output=True, check=False)
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr


def test_where_nothing_can_be_written_is_known_before_the_work(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system may allow everything and refuse the file itself; and a name may leave no room for that of the unfinished file."""
    page = tmp_path / "page.txt"
    page.write_text("le chat\n", encoding="utf-8")
    with pytest.raises(DiskError, match="the name is too long; choose a shorter one"):
        OpenedDocument(str(page), str(tmp_path / f"{'a' * 246}.txt"), "text")

    def refuse(self: Path) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(DiskError, match=r"out\.txt: not permitted to write here; choose another place"):
        OpenedDocument(str(page), str(tmp_path / "out.txt"), "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.txt"]


def test_a_file_in_other_languages_than_the_model_is_refused(home: Path) -> None:
    random_bundle(home / "named", languages={"source": "fr", "target": "en"})
    unit = "<trans-unit id='1'><source>un chat</source></trans-unit>"
    for number, (languages, message) in enumerate(
        [
            ("source-language='de' target-language='fr'", "its source language is de, that of the model is fr"),
            ("source-language='fr' target-language='it'", "its target language is it, that of the model is en"),
            ("source-language='FR-ca'", ""),
        ]
    ):
        path = home / f"{number}.xlf"
        path.write_text(f"<xliff version='1.2'><file {languages}><body>{unit}</body></file></xliff>")
        result = CliRunner().invoke(app, ["translate", str(home / "named"), "--format", "auto", "-i", str(path)])
        assert (result.exit_code == 0) == (not message)
        assert message in str(result.exception)
        assert (b"<target>" in result.stdout_bytes) == (not message)

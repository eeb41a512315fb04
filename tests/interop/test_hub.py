"""Models by their name on the hub, pushed and pulled: by the command line, against a hub on the loopback interface.

The library reads the hub's address when it is imported, so each command is a process of its own.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import regard
from interop.fake_hub import FakeHub, fake_hub
from interop.foreign import marian_directory
from regard.errors import BundleError, DiskError
from regard.extras import MissingPackageError
from regard.files import cache_directory
from regard.interop import hub as hub_room
from regard.interop.hub import is_hub_name
from tasks.bundles import TEXTS, random_bundle

pytest.importorskip("transformers")
pytest.importorskip("huggingface_hub")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
RUN = "from regard.cli.entry import run; run()"


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a Marian model with others beside them, as models on the hub have."""
    path = tmp_path_factory.mktemp("opus") / "hf"
    marian_directory(path, activation_function="relu", scale_embedding=True)
    files = {file.name: file.read_bytes() for file in path.iterdir()}
    return {
        **files,
        "README.md": b"# a card",
        "evil.py": b"import os",
        "tf_model.h5": b"x" * 1000,
        "pytorch_model.bin": b"a pickle",
    }


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as made:
        yield made


@pytest.fixture
def run(hub: FakeHub, tmp_path: Path) -> Run:
    def command(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        inside = {
            "HF_ENDPOINT": hub.address,
            "HF_HOME": str(tmp_path / "hf-home"),
            "HF_TOKEN": "hf_fake",
            "HF_HUB_DISABLE_XET": "1",
        }
        return subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            env={**os.environ, **inside, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return command


def test_a_model_is_imported_by_its_name(hub: FakeHub, run: Run, opus: dict[str, bytes], tmp_path: Path) -> None:
    hub.models["Helsinki-NLP/opus-mt-fr-en"] = opus
    done = run("import", "Helsinki-NLP/opus-mt-fr-en", "fr-en")
    assert done.returncode == 0, done.stderr
    assert "fr-en: a bundle; try `regard translate fr-en`" in done.stderr
    assert hub.fetched == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "vocab.json",
        "tokenizer_config.json",
    }
    directory = tmp_path / "local"
    directory.mkdir()
    for name, content in opus.items():
        (directory / name).write_bytes(content)
    regard.import_model(directory, tmp_path / "other")
    fetched, local = (regard.load(tmp_path / name).translate(TEXTS[:3]) for name in ("fr-en", "other"))
    assert [answer.text for answer in fetched] == [answer.text for answer in local]
    assert {path.name for path in tmp_path.iterdir()} <= {"hf-home", "cache", "fr-en", "local", "other"}, (
        "nothing is left behind"
    )
    again = run("import", "Helsinki-NLP/opus-mt-fr-en", "fr-en")
    assert (again.returncode, again.stderr.strip()) == (
        2,
        "regard: fr-en: it is there already; choose another place, or delete it",
    )


def test_pickled_weights_are_fetched_only_where_there_are_no_others(
    hub: FakeHub, run: Run, opus: dict[str, bytes]
) -> None:
    hub.models["a/old"] = {name: content for name, content in opus.items() if name != "model.safetensors"}
    done = run("import", "a/old", "out")
    assert done.returncode == 2
    assert done.stderr.strip() == "regard: a/old/pytorch_model.bin: damaged: not a zip file, or cut off; copy it again"
    assert "pytorch_model.bin" in hub.fetched
    assert not {"evil.py", "tf_model.h5"} & hub.fetched


def test_a_bundle_that_was_pushed_is_pulled_as_it_was(hub: FakeHub, run: Run, tmp_path: Path) -> None:
    bundle = random_bundle(tmp_path / "b", positions="sinusoidal")
    done = run("push", "b", "someone/fr-en", "--license", "apache-2.0")
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith("/someone/fr-en")
    stored = hub.models["someone/fr-en"]
    assert stored["model.safetensors"] == (bundle / "model.safetensors").read_bytes()
    assert b'license: "apache-2.0"' in stored["README.md"]
    stored["notes.txt"] = b"not of the bundle"
    done = run("pull", "someone/fr-en", "pulled")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "pulled" / "notes.txt").exists()
    ours, theirs = (regard.load(tmp_path / name).translate(TEXTS[:3]) for name in ("b", "pulled"))
    assert [answer.text for answer in ours] == [answer.text for answer in theirs]
    done = run("import", "someone/fr-en", "imported")
    assert done.returncode == 2
    assert "regard pull" in done.stderr


def test_a_pulled_file_is_the_users_own(hub: FakeHub, run: Run, tmp_path: Path) -> None:
    random_bundle(tmp_path / "b", positions="sinusoidal")
    assert run("push", "b", "someone/fr-en").returncode == 0
    assert run("pull", "someone/fr-en", "pulled").returncode == 0
    with (tmp_path / "pulled" / "README.md").open("ab") as file:
        file.write(b"edited")
    assert run("pull", "someone/fr-en", "again").returncode == 0
    assert (tmp_path / "again" / "README.md").read_bytes() == hub.models["someone/fr-en"]["README.md"]


def test_shards_are_not_fetched_beside_a_whole_file(hub: FakeHub, run: Run, opus: dict[str, bytes]) -> None:
    shards = {"model-00001-of-00001.safetensors": b"x", "model.safetensors.index.json": b"{}"}
    hub.models["a/both"] = {**opus, **shards}
    done = run("import", "a/both", "out")
    assert done.returncode == 0, done.stderr
    assert "model.safetensors" in hub.fetched
    assert not set(shards) & hub.fetched


def test_a_push_writes_nothing_beside_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(_bundle: object, out: Path, *_: object) -> None:
        places.append(out)
        raise StoppedError

    places: list[Path] = []
    random_bundle(tmp_path / "models" / "b", positions="sinusoidal")
    monkeypatch.setattr(hub_room, "export_model", stop)
    with pytest.raises(StoppedError):
        hub_room.push(tmp_path / "models" / "b", "someone/fr-en")
    assert [place.is_relative_to(cache_directory()) for place in places] == [True]
    assert not places[0].parent.exists()


@pytest.mark.parametrize("verb", ["fetch", "push", "pull"])
def test_a_full_disk_is_not_taken_for_a_missing_network(verb: str) -> None:
    for code, reason in ((errno.ENOSPC, "no space left"), (errno.EDQUOT, "no space left"), (errno.EACCES, "permitted")):
        with pytest.raises(DiskError, match=f"^/x/y: .*{reason}"), hub_room._transfer("a/b", verb):
            raise OSError(code, os.strerror(code), "/x/y")


@pytest.mark.parametrize("verb", ["fetch", "push", "pull"])
def test_only_an_import_may_have_named_a_directory(verb: str) -> None:
    with pytest.raises(BundleError, match="the hub cannot be reached") as caught, hub_room._transfer("a/b", verb):
        raise ConnectionError("refused")
    assert ("no such directory" in str(caught.value)) == (verb == "fetch")
    assert ("give its directory" in str(caught.value)) == (verb == "fetch")


@pytest.mark.parametrize(
    "work", [lambda: hub_room.pull("a/b", "nowhere-yet"), lambda: hub_room.fetched_model("a/b", Path("x")).__enter__()]
)
def test_without_the_library_the_extra_is_named(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.extras.is_installed", lambda _module: False)
    with pytest.raises(MissingPackageError, match=r"needs huggingface_hub, .*; pip install \"regard\[hub\]\"$"):
        work()


def test_a_bundle_that_was_changed_on_the_hub_is_refused(hub: FakeHub, run: Run, tmp_path: Path) -> None:
    random_bundle(tmp_path / "b", positions="sinusoidal")
    assert run("push", "b", "someone/fr-en").returncode == 0
    hub.models["someone/fr-en"]["config.json"] += b" "
    done = run("pull", "someone/fr-en", "pulled")
    assert done.returncode == 2
    assert done.stderr.startswith("regard: someone/fr-en/config.json: content does not match its SHA-256")
    assert not (tmp_path / "pulled").exists()


def test_each_failure_is_one_line_with_its_fix(hub: FakeHub, run: Run, tmp_path: Path) -> None:
    random_bundle(tmp_path / "b", positions="sinusoidal")
    hub.models["a/b"] = {"config.json": b"{}"}
    cases = {
        ("import", "a/none", "out"): "no such model on the hub that you may see",
        ("import", "a/b", "out"): "no weights (model.safetensors) on the hub",
        ("import", "a/b", "out", "--revision", "nowhere"): "no such revision on the hub",
        ("pull", "a/b", "out"): "no manifest.json on the hub, so it is no bundle of regard",
        ("pull", "no name", "out"): "'no name': not the name of a model on the hub; write OWNER/NAME",
        ("push", "b", "../x"): "not the name of a model on the hub",
        ("push", "nothing", "a/c"): "nothing",
        ("import", "b", "out", "--revision", "main"): "--revision main is of a model of the hub",
    }
    for arguments, reason in cases.items():
        done = run(*arguments)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert reason in done.stderr
    done = run("import", "a/b", "out", HF_ENDPOINT="http://127.0.0.1:9")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "the hub cannot be reached" in done.stderr
    assert "download the model elsewhere and give its directory" in done.stderr
    for status, reason in ((403, "log in with a token that may push"), (500, "the hub answered with status 500")):
        hub.status = status
        done = run("push", "b", "a/c")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert reason in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"hf-home", "cache", "b"}


@pytest.mark.parametrize(
    "name", ["../x", "a/../b", "a", "a/b/c", "/a/b", "a/b.git", "http://x/y", "a b/c", "a/" + "b" * 97, "-/.."]
)
def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    assert not is_hub_name(name)


def test_names_of_the_hub() -> None:
    assert all(map(is_hub_name, ("Helsinki-NLP/opus-mt-en-de", "google/mt5-small", "a/b.c_d-e")))

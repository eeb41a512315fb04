"""Conversion for CTranslate2: made once, whole, for this bundle only. What the converted model says is tested with the engine."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import cache
from regard.bundle import ctranslate2 as conversion
from regard.bundle.bundle import read_network, save_bundle
from regard.bundle.ctranslate2 import convert, converted, sinusoids
from regard.bundle.opened import OpenBundle
from regard.errors import BundleError, DiskError, ResourceError
from regard.ops.positions import sinusoidal
from regard.tasks.bundles import open_bundle

pytest.importorskip("ctranslate2")


def saved(make_parts: Callable[..., tuple], path: Path, **model: object) -> OpenBundle:
    network, config, tokenizers = make_parts(**model)
    with torch.no_grad():
        network.target.embedding.weight[-1].zero_()
        network.source.embedding.weight[-1].zero_()
    save_bundle(path, network.state_dict(), config, tokenizers)
    return open_bundle(path)


def test_the_positions_are_those_of_the_network() -> None:
    assert np.abs(sinusoids(700, 64) - sinusoidal(torch.arange(700), 64).numpy()).max() < 1e-6


@torch.no_grad()
def test_root_mean_square_norms_are_converted(make_parts, tmp_path: Path) -> None:
    """The log-probabilities of CTranslate2 are those of the network."""
    import ctranslate2

    for norm in ("pre", "post"):
        bundle = saved(make_parts, tmp_path / norm, norm_kind="rms", norm=norm)
        network, vocabulary = read_network(bundle), bundle.tokenizers.source.vocabulary
        translator = ctranslate2.Translator(str(converted(bundle, "float32")), device="cpu", intra_threads=1)
        source, target = [5, 9, 3, 7], [4, 8, 6]
        [found] = translator.score_batch(
            [[vocabulary.pieces[one] for one in source]], [[vocabulary.pieces[one] for one in target]]
        )
        logits = network(torch.tensor([[*source, 0]]), torch.tensor([[vocabulary.pad, *target]]))[0]
        expected = logits.log_softmax(-1)[torch.arange(4), torch.tensor([*target, 0])]
        torch.testing.assert_close(torch.tensor(found.log_probs), expected, rtol=1e-4, atol=1e-4)


def test_a_conversion_is_kept_and_a_damaged_one_made_anew(make_parts, tmp_path: Path) -> None:
    bundle = saved(make_parts, tmp_path / "b")
    path = converted(bundle, "float32")
    assert {"model.bin", "config.json", "shared_vocabulary.json"} <= {file.name for file in path.iterdir()}
    pieces = json.loads((path / "shared_vocabulary.json").read_text(encoding="utf-8"))
    assert tuple(pieces) == bundle.tokenizers.source.vocabulary.pieces[:-1]
    made = (path / "model.bin").stat()
    assert converted(bundle, "float32") == path
    assert (path / "model.bin").stat().st_ino == made.st_ino
    content = (path / "model.bin").read_bytes()
    for damage in (content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 1]), b""):
        (path / "model.bin").write_bytes(damage)
        assert converted(bundle, "float32") == path
        assert (path / "model.bin").read_bytes() == content
    (path / "config.json").unlink()
    assert (converted(bundle, "float32") / "config.json").exists()


def test_each_model_and_precision_has_its_own(make_parts, tmp_path: Path) -> None:
    one, other = saved(make_parts, tmp_path / "b"), saved(make_parts, tmp_path / "c", activation="gelu")
    paths = [converted(one, "float32"), converted(one, "int8"), converted(other, "float32")]
    assert len(set(paths)) == 3
    sizes = [(path / "model.bin").stat().st_size for path in paths]
    assert sizes[1] < sizes[0]


def test_what_fails_leaves_nothing(make_parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = saved(make_parts, tmp_path / "b")

    def fail(*_: object) -> None:
        raise RuntimeError("interrupted")

    monkeypatch.setattr(conversion, "convert", fail)
    with pytest.raises(RuntimeError, match="interrupted"):
        converted(bundle, "float32")
    assert [path.suffix for path in (tmp_path / "cache/ctranslate2").iterdir()] == [".lock"]


def test_two_processes_at_once(make_parts, tmp_path: Path) -> None:
    bundle = saved(make_parts, tmp_path / "b")
    code = (
        "from pathlib import Path; from regard.tasks.bundles import open_bundle; "
        "from regard.bundle.ctranslate2 import converted; "
        f"print(converted(open_bundle(Path({str(bundle.directory)!r})), 'float32'))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate()[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert set(answers) == {str(converted(bundle, "float32"))}
    names = [path.name for path in Path(answers[0]).parent.iterdir()]
    assert len(names) == 2, names  # the model and its lock


def test_what_cannot_be_converted_says_why(make_parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, config, tokenizers = make_parts()  # its pad has an embedding
    with pytest.raises(
        BundleError, match=r"CTranslate2: it has no model.score 'latent', only scaled_dot; use the torch"
    ):
        convert(saved(make_parts, tmp_path / "score", score="latent"), "float32", tmp_path)
    with torch.no_grad():
        network.target.embedding.weight[-1].zero_()
        network.source.embedding.weight[-1].zero_()
        network.decoder_norm.bias[3] = torch.nan  # a greedy search that makes no scores would not see it
    save_bundle(tmp_path / "nan", network.state_dict(), config, tokenizers)
    with pytest.raises(BundleError, match=r"decoder_norm.bias holds what is not a number"):
        convert(open_bundle(tmp_path / "nan"), "float32", tmp_path)
    monkeypatch.setattr(conversion, "find_spec", lambda name: None)
    with pytest.raises(BundleError, match="not installed"):
        convert(saved(make_parts, tmp_path / "b"), "float32", tmp_path)


def test_a_lock_is_not_waited_for_without_end(make_parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = saved(make_parts, tmp_path / "b")
    path = converted(bundle, "float32")
    lock = path.with_name(f"{path.name}.lock")
    monkeypatch.setattr(cache, "LONGEST_WAIT", 0.0)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DiskError, match=r"lock: another process has held this lock for 0 seconds; end it, or set"):
            converted(bundle, "float32")
    assert converted(bundle, "float32") == path
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(DiskError, match=r"lock: a named pipe, not a regular file; it is not read; delete it"):
        converted(bundle, "float32")


def test_too_many_open_files_leave_a_sound_conversion(
    make_parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = saved(make_parts, tmp_path / "b")
    path = converted(bundle, "float32")

    def fail(*_: object) -> None:
        raise ResourceError("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(conversion, "verify_manifest", fail)
        with pytest.raises(ResourceError):
            converted(bundle, "float32")
    made = (path / "model.bin").stat().st_ino
    assert converted(bundle, "float32") == path
    assert (path / "model.bin").stat().st_ino == made


def test_nobody_prunes_what_is_being_opened(make_parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = saved(make_parts, tmp_path / "b")
    monkeypatch.setenv(cache.QUOTA_VARIABLE, "0")
    with ExitStack() as lock:
        path = converted(bundle, "float32", lock)
        cache.prune(path.parent, keep=tmp_path)
        assert (path / "model.bin").exists()
    cache.prune(path.parent, keep=tmp_path)
    assert list(path.parent.iterdir()) == []

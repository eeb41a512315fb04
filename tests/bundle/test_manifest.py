"""Every byte counts: a file that was cut, changed or lost is named before anything is read from it."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from regard.bundle.manifest import open_manifest, verify_manifest, write_manifest
from regard.errors import BundleError, ResourceError
from regard.tasks.bundles import load_bundle

FILES = ["config.json", "model.safetensors", "source.vocab.json", "target.vocab.json", "tokenizer.json"]


def test_the_manifest_lists_every_file(bundle: Path) -> None:
    assert sorted(open_manifest(bundle).digests) == FILES
    assert {path.name for path in bundle.iterdir()} == {*FILES, "manifest.json"}
    assert set(json.loads((bundle / "manifest.json").read_text())) == {"format", "files", "sha256"}


def test_known_sums(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_bytes(b"")
    write_manifest(tmp_path)
    assert open_manifest(tmp_path).digests == {  # FIPS 180-4 examples
        "a": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "deep/b": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    verify_manifest(tmp_path, ["a", "deep/b"])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage", ["half", "one byte less", "one byte more", "empty", "first bit", "middle bit", "last bit"]
)
def test_damage_is_named(bundle: Path, name: str, damage: str) -> None:
    path = bundle / name
    content = bytearray(path.read_bytes())
    if damage.endswith("bit"):
        place = {"first bit": 0, "middle bit": len(content) // 2, "last bit": len(content) - 1}[damage]
        content[place] ^= 1 << 5
    else:
        content = {
            "half": content[: len(content) // 2],
            "one byte less": content[:-1],
            "one byte more": content + b"\n",
            "empty": bytearray(),
        }[damage]
    path.write_bytes(content)
    with pytest.raises(BundleError) as raised:
        load_bundle(bundle)
    assert str(raised.value) == (
        f"{path}: content does not match its SHA-256 in manifest.json ({len(content)} bytes found); "
        "the file is damaged; restore it or use another checkpoint"
    )


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_missing_file_is_named(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    with pytest.raises(BundleError) as raised:
        load_bundle(bundle)
    assert str(raised.value).startswith(f"{bundle / name}: missing")
    assert "\n" not in str(raised.value)


def test_every_flipped_bit_of_the_manifest_is_blamed_on_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    (tmp_path / "a").write_bytes(b"abc")
    write_manifest(tmp_path)
    content = path.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
            with pytest.raises(BundleError) as raised:
                open_manifest(tmp_path)
            assert str(raised.value).startswith(f"{path}: "), (place, bit)
    for length in range(len(content) - 1):  # all but the cut of the last line break, which loses nothing
        path.write_bytes(content[:length])
        with pytest.raises(BundleError, match=r"manifest\.json: "):
            open_manifest(tmp_path)


def test_a_file_that_must_be_listed(bundle: Path) -> None:
    (bundle / "model.safetensors").rename(bundle.parent / "weights")
    write_manifest(bundle)
    (bundle.parent / "weights").rename(bundle / "model.safetensors")
    with pytest.raises(BundleError, match=r"model\.safetensors: not listed in manifest\.json"):
        load_bundle(bundle)


def test_further_files_do_not_matter(bundle: Path) -> None:
    (bundle / "notes.txt").write_text("mine")
    verify_manifest(bundle)


def rewritten(directory: Path, **values: object) -> None:
    """A manifest of other content that is consistent in itself."""
    canonical = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    (directory / "manifest.json").write_text(json.dumps({**values, "sha256": digest}))


def test_another_format(tmp_path: Path) -> None:
    rewritten(tmp_path, format=2, files={})
    with pytest.raises(BundleError, match=r"manifest\.json: format 2 is not known, only 1; update regard"):
        open_manifest(tmp_path)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b"])
def test_names_outside_are_refused(tmp_path: Path, name: str) -> None:
    rewritten(tmp_path, format=1, files={name: "0" * 64})
    with pytest.raises(BundleError, match="outside of the directory"):
        open_manifest(tmp_path)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"files": ["config.json"]}, "files = ['config.json']"),
        ({}, "files: field required"),
        ({"files": {"a": 1}}, "files.a = 1"),
        ({"files": {"a": "0" * 63}}, "files.a = "),
        ({"files": {"a\0b": "0" * 64}}, "outside of the directory"),
    ],
)
def test_a_manifest_of_another_shape(tmp_path: Path, values: dict[str, object], reason: str) -> None:
    rewritten(tmp_path, format=1, **values)
    with pytest.raises(BundleError, match=r"manifest\.json: ") as caught:
        open_manifest(tmp_path)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '{"format": 1, "format": 1}', "1" * 5000, '{"a": "\\ud800"}'])
def test_a_manifest_that_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BundleError, match=r"manifest\.json: damaged: "):
        open_manifest(tmp_path)


def test_a_file_is_read_only_if_it_is_listed_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    write_manifest(tmp_path)
    (tmp_path / "b").write_bytes(b"abc")
    files = open_manifest(tmp_path)
    assert files.read("a") == b"abc"
    assert files.read_whole("a", 3) == b"abc"
    with pytest.raises(BundleError, match="b: not listed"):
        files.read("b")
    with pytest.raises(BundleError, match="a: larger than 2 bytes"):
        files.read("a", 2)
    with pytest.raises(BundleError, match="a: its size has changed"):
        files.read_whole("a", 2)
    (tmp_path / "a").write_bytes(b"abd")
    for read in (files.read, lambda name: files.read_whole(name, 3)):
        with pytest.raises(BundleError, match="a: content does not match its SHA-256"):
            read("a")


def test_too_many_open_files_are_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    write_manifest(tmp_path)
    files = open_manifest(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", fail)
    for use in (files.verify, lambda: files.read("a"), lambda: open_manifest(tmp_path)):
        with pytest.raises(ResourceError, match="cannot be read now: too many open files") as caught:
            use()
        assert not isinstance(caught.value, BundleError)

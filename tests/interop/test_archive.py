"""Zip files of strangers: each attack is one line of error, and nothing is written but the bundle in the cache."""

import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.bundle.archive import archives, unpacked
from regard.errors import BundleError


@pytest.fixture
def packed(pre_norm: Path, tmp_path: Path) -> Path:
    regard.export(pre_norm, tmp_path / "model.zip", to="zip")
    return tmp_path / "model.zip"


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


def added(name: str, content: bytes = b"x", mode: int = stat.S_IFREG | 0o644) -> Callable[[Path], None]:
    def attack(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(entry(name, mode), content)

    return attack


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as output:
        for _ in range(80):
            output.write(bytes(1 << 20))


def many(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(1200):
            archive.writestr(entry(f"file-{number}"), b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-300])


def without_manifest(path: Path) -> None:
    path.unlink()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")


def two_bundles(path: Path) -> None:
    added("other/manifest.json", b"{}")(path)


def changed_weights(path: Path) -> None:
    """A byte of the weights, which are stored, and its checksum left as it was."""
    content = bytearray(path.read_bytes())
    place = content.index(b"model.safetensors") + 2000
    content[place] ^= 0xFF
    path.write_bytes(content)


def changed_config(path: Path) -> None:
    """Another config with a correct checksum: the manifest of the bundle tells."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(entry(name), content + b" " if name == "config.json" else content)


def understated_size(path: Path) -> None:
    """The directory says that a compressed file is smaller than it is."""
    bomb_name = b"zeros"
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(1 << 20))
    content = bytearray(path.read_bytes())
    place = content.rindex(bomb_name) - 46  # its record in the directory
    assert content[place : place + 4] == b"PK\x01\x02"
    content[place + 24 : place + 28] = struct.pack("<I", 10)
    path.write_bytes(content)


def compressed(kind: int, damaged: bool = False) -> Callable[[Path], None]:
    """An entry that another method than deflate has packed."""

    def attack(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("zeros", bytes(1 << 20), kind)
        if damaged:
            content = bytearray(path.read_bytes())
            content[content.index(b"zeros") + 20] ^= 0xFF
            path.write_bytes(content)

    return attack


def other_directory(path: Path) -> None:
    """Sizes of 64 bits in two records: a small one where the locator points, and a huge one where `zipfile` looks."""
    content = path.read_bytes()
    small, huge = (struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, n, n, n, 0) for n in (1, 1 << 30))
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(content) - 22, 1)
    path.write_bytes(content[:-22] + small + huge + locator + content[-22:])


def huge_directory(path: Path, comment: int = 0) -> None:
    """A directory of 1 GB, by its record of 64 bits; the longest comment moves that record as far away as it can be."""
    content = path.read_bytes()
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 1 << 30, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(content) - 22, 1)
    path.write_bytes(content[:-22] + record + locator + content[-22:] + bytes(comment))


ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "traversal": (added("../evil.txt"), "leads out of the directory"),
    "deep traversal": (added("a/../../evil.txt"), "leads out of the directory"),
    "absolute": (added("/tmp/evil.txt"), "leads out of the directory"),
    "drive": (added("C:evil.txt"), "leads out of the directory"),
    "link": (added("link", b"/etc/passwd", stat.S_IFLNK | 0o777), "a link or a device"),
    "pipe": (added("pipe", b"", stat.S_IFIFO | 0o644), "a link or a device"),
    "twice in capitals": (added("CONFIG.json"), "two entries have the name"),
    "bomb": (bomb, "bytes unpacked from a file of"),
    "many entries": (many, "a model has at most 1,000 files"),
    "cut off": (cut, "damaged"),
    "no manifest": (without_manifest, "no manifest.json at its top"),
    "two bundles": (two_bundles, "2 manifest.json at its top"),
    "changed weights": (changed_weights, "model.safetensors"),
    "changed config": (changed_config, "config.json: content does not match its SHA-256"),
    "bzip2": (compressed(zipfile.ZIP_BZIP2), "compressed in another way"),
    "lzma": (compressed(zipfile.ZIP_LZMA, damaged=True), "compressed in another way"),
    "two records of the directory": (other_directory, "not where it states"),
    "huge directory": (huge_directory, "1,073,741,824 bytes"),
    "huge directory, far": (lambda path: huge_directory(path, 65_536), "1,073,741,824 bytes"),
    "size that lies": (understated_size, "zeros"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_zip_file_is_refused_in_one_line(name: str, packed: Path, tmp_path: Path) -> None:
    attack, reason = ATTACKS[name]
    attack(packed)
    outside = {path for path in tmp_path.iterdir() if path.name != "cache"}
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=reason) as caught:
            regard.load(packed)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(packed) in str(caught.value)
    assert {path for path in tmp_path.iterdir() if path.name != "cache"} == outside
    assert not archives().exists() or not [path for path in archives().iterdir() if path.is_dir()]


def test_a_folder_in_a_zip_file_is_a_bundle_too(pre_norm: Path, tmp_path: Path) -> None:
    """As file managers pack a directory."""
    path = tmp_path / "by-hand.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry("pre/", stat.S_IFDIR | 0o755), b"")
        for file in sorted(pre_norm.iterdir()):
            archive.write(file, f"pre/{file.name}")
    assert (unpacked(path) / "config.json").read_bytes() == (pre_norm / "config.json").read_bytes()


def test_sizes_of_64_bits_are_read(packed: Path) -> None:
    """As files of more than 4 GB have them."""
    content = packed.read_bytes()
    entries, length, place = struct.unpack("<HII", content[-12:-2])
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, place)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(content) - 22, 1)
    packed.write_bytes(content[:-22] + record + locator + content[-22:])
    assert (unpacked(packed) / "config.json").exists()


def test_a_file_that_is_no_zip_file(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x80\x04\x95")
    with pytest.raises(BundleError, match="a file, not a directory or a zip file"):
        regard.load(tmp_path / "model.bin")

"""Where the files of Multi30k are: as https://github.com/multi30k/dataset publishes them, or under short names.

    published, in data/task1/               short             content
    tok/train.lc.norm.tok.en                tok/train.en      lowercased Moses tokens
    tok/val.lc.norm.tok.en                  tok/val.en
    tok/test_2016_flickr.lc.norm.tok.en     tok/test2016.en
    raw/train.en.gz                         raw/train.en      as written
    raw/val.en.gz                           raw/val.en
    raw/test_2016_flickr.en.gz              raw/test2016.en

A folder may be the repository, its data/task1, or one with the folders tok and raw.
"""

from pathlib import Path

SOURCE = "https://github.com/multi30k/dataset (git clone, without its submodules)"
HELP = f"the corpus: a clone of {SOURCE}, or a folder with tok and raw"
PARTS = {"train": ("train",), "val": ("val",), "test2016": ("test2016", "test_2016_flickr")}
HOMES = (Path(), Path("task1"), Path("data/task1"))


def folder_of(home: Path, kind: str) -> Path:
    """The folder of the kind `tok` or `raw` in the corpus at `home`."""
    for place in HOMES:
        if (home / place / kind).is_dir():
            return home / place / kind
    raise SystemExit(
        f"{home}: no Multi30k in it, for there is no folder {kind} or data/task1/{kind}; get it from {SOURCE}"
    )


def file_of(folder: Path, part: str, language: str) -> Path:
    """The file of a part (train, val, test2016) in a language."""
    names = [
        f"{stem}.{ending}" for stem in PARTS[part] for ending in (language, f"lc.norm.tok.{language}", f"{language}.gz")
    ]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise SystemExit(f"{folder}: none of {', '.join(names)} is in it; get Multi30k from {SOURCE}")


def language_of(path: Path) -> str:
    """The language of a file, by its suffix."""
    return path.name.removesuffix(".gz").rpartition(".")[2]

"""The options `--src`, `--tgt` and `--pairs`: one training corpus, or several if they are repeated."""

from collections.abc import Sequence
from typing import Any

from regard.errors import ConfigError


def corpora_settings(
    sources: Sequence[str] | None, targets: Sequence[str] | None, pairs: Sequence[str] | None
) -> dict[str, Any]:
    """The settings of the table `data` for these options: `src` and `tgt`, or `pairs`, or `corpora` if there are several."""
    given = {"src": sources or [], "tgt": targets or [], "pairs": pairs or []}
    if max(map(len, given.values())) <= 1:
        return {name: paths[0] if paths else None for name, paths in given.items()}
    check_numbers(given["src"], given["tgt"])
    if pairs and sources:
        raise ConfigError(
            "--src and --pairs exclude each other; list the corpora in a file, as tables [[data.corpora]]"
        )
    if pairs:
        return {"corpora": [{"pairs": path} for path in pairs]}
    return {"corpora": [{"src": src, "tgt": tgt} for src, tgt in zip(given["src"], given["tgt"], strict=True)]}


def check_numbers(sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse unequally many `--src` and `--tgt`."""
    if len(sources) != len(targets):
        times = f"--src is given {len(sources)} times and --tgt {len(targets)} times"
        raise ConfigError(f"{times}; give a --tgt for each --src, in the same order")

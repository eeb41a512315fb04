"""The stage `text`: the pairs of a run, its validation pairs, and the sentences to translate, as files below DIR/text.

    train.src train.tgt (train-2.src .. of several corpora)  valid.src valid.tgt  read.src read.tgt  summary.json

`.src` is always the side that RUN reads. The validation pairs are those that RUN was validated on, so that every model leaves the same
ones out and is judged on the same ones. Other text loses the sentences that validate or test.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.config import PairData, languages
from regard.data.directed_inputs import with_languages
from regard.data.inputs import Inputs, open_inputs
from regard.data.readers import Pair
from regard.errors import ConfigError, DataError
from regard.files import to_json, whole_directory, write_whole
from regard.settings import read_json
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.plan import SUMMARY
from regard.tasks.translate.validation import validation_pairs
from regard.text.normalise import normalise

SIDES = ("src", "tgt")
OTHER = "held_out_sha256"
"""The key of summary.json that tells which further held-out pairs the other text has lost."""


@dataclass(frozen=True)
class Monolingual:
    """The other text of each side; empty: none was given."""

    source: Sequence[str] = ()
    target: Sequence[str] = ()


@dataclass(frozen=True)
class RealCorpus:
    """A corpus of the run's own pairs, as the stage has written it."""

    name: str
    pairs: int
    weight: float

    def file(self, text: Path, side: str) -> Path:
        """The file of a side, src or tgt."""
        return text / f"{self.name}.{side}"


def write_texts(
    place: Path, base: BaseRun, mono: Monolingual, *, own: bool, other: Sequence[Pair] = ()
) -> dict[str, Any]:
    """Write the files of the stage; returns its summary. own: the training text is translated too. other: further held-out pairs."""
    inputs = inputs_of(base.settings.data)
    sources, references, _ = validation_pairs(base.path)
    valid = list(zip(sources, references, strict=True))
    held_out = frozenset(map(_pair_key, valid)) if inputs.validation is None else frozenset()
    tested = [*valid, *(inputs.test_pairs or ()), *other]
    with whole_directory(place) as staging:
        rows, read = [], [[], []]  # type: tuple[list[dict[str, Any]], list[list[str]]]
        own_corpora = [corpus for corpus in inputs.corpora if corpus.share is None]  # what RUN replayed was its base's
        for number, corpus in enumerate(own_corpora, 1):
            name = "train" if number == 1 else f"train-{number}"
            written = [(_line(pair[0]), _line(pair[1])) for pair in corpus.pairs() if _pair_key(pair) not in held_out]
            _write(staging, name, written)
            pairs = [pair for pair in written if _is_usable(pair)]
            rows.append({"name": name, "pairs": len(pairs), "weight": corpus.weight})
            if own:
                for side, lines in enumerate(read):
                    lines += [pair[side] for pair in pairs]
        _write(staging, "valid", [(_line(source), _line(target)) for source, target in valid])
        counts: dict[str, Any] = {}
        for side, name in enumerate(SIDES):
            given = (mono.source, mono.target)[side]
            kept, counts[name] = _new_sentences(given, [pair[side] for pair in tested], read[side])
            write_whole(staging / f"read.{name}", _joined([*read[side], *kept]))
        if not sum(row["pairs"] for row in rows):
            raise DataError(f"{base.path}: no pairs left of its training text; give a run whose text has some")
        summary = {"corpora": rows, "valid": len(valid), "other_text": counts, OTHER: digest_of_pairs(other)}
        write_whole(staging / SUMMARY, to_json(summary))
    return summary


def digest_of_pairs(pairs: Iterable[Pair]) -> str:
    """A hash of pairs."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update("\t".join(pair).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def refuse_learned_text(place: Path, other: Sequence[Pair]) -> None:
    """Refuse held-out pairs that the other text has not lost, when the stage was written by an earlier call."""
    if not other or not (place / SUMMARY).exists():
        return
    summary = read_json(place / SUMMARY)
    if summary.get(OTHER) == digest_of_pairs(other) or not any(row["read"] for row in summary["other_text"].values()):
        return
    raise ConfigError(
        f"--other-src: this text was not left out of --mono-.. when {place} was written, so models may have learned from it; "
        "give the text of the first call, or another --out"
    )


def inputs_of(data: PairData) -> Inputs:
    """The inputs of a run's data, opened."""
    return open_inputs(with_languages(data, languages(data)))


def real_corpora(text: Path) -> list[RealCorpus]:
    """The run's own pairs in the files of the stage."""
    return [
        RealCorpus(str(row["name"]), int(row["pairs"]), float(row["weight"]))
        for row in read_json(text / SUMMARY)["corpora"]
        if row["pairs"]
    ]


def real_pairs(text: Path) -> Iterator[Pair]:
    """All of the run's own pairs."""
    for corpus in real_corpora(text):
        yield from filter(_is_usable, read_sides(corpus.file(text, "src"), corpus.file(text, "tgt")))


def read_sides(source: Path, target: Path) -> list[Pair]:
    """The pairs of two files that a stage has written."""
    return list(zip(read_lines(source), read_lines(target), strict=True))


def read_lines(path: Path) -> list[str]:
    """The lines of a file that a stage has written."""
    return path.read_bytes().decode("utf-8").split("\n")[:-1]  # at no other mark, such as a carriage return


def _is_usable(pair: Pair) -> bool:
    """Whether both sides have text. Other pairs stay in the files, since the vocabulary is learned from them too, as that of RUN was."""
    return bool(pair[0].strip() and pair[1].strip())


def _new_sentences(
    sentences: Sequence[str], tested: Sequence[str], own: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """The sentences that are neither tested on nor there before, and how many were left out. Compared as models read them."""
    held_out, seen, kept = set(map(normalise, tested)), set(map(normalise, own)), []  # type: set[str], set[str], list[str]
    counts = {"read": len(sentences), "held_out": 0, "repeated": 0}
    for sentence in map(_line, sentences):
        key = normalise(sentence)
        if key in held_out:
            counts["held_out"] += 1
        elif key in seen:
            counts["repeated"] += 1
        else:
            seen.add(key)
            kept.append(sentence)
    return kept, {**counts, "kept": len(kept)}


def _pair_key(pair: Pair) -> Pair:
    """The pair as models read it: other spaces and another Unicode form are no other pair."""
    return normalise(pair[0]), normalise(pair[1])


def _line(text: str) -> str:
    """The text as one line of a file."""
    return " ".join(text.splitlines()) if text.splitlines() != [text] else text


def _write(home: Path, name: str, pairs: Sequence[Pair]) -> None:
    for side, suffix in enumerate(SIDES):
        write_whole(home / f"{name}.{suffix}", _joined([pair[side] for pair in pairs]))


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)

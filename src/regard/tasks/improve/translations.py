"""The end of a stage that translates: filters what the models wrote, and counts what each filter drops.

    translations.jsonl -> kept.src kept.tgt dropped.tsv summary.json

A translation is first judged by itself (not finished, improbable, a loop), then the pair by the filters of `regard data clean`, with the
length ratio and the languages of the run's own pairs. A pair that the run has, or that an earlier stage has kept, is a duplicate.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.activity import activity
from regard.data.clean import BLOCK, Judge, Line
from regard.data.filters import FILTERS, CleanSettings, Reason
from regard.data.formats import LanguagePair
from regard.data.loops import loop_in
from regard.data.readers import Pair
from regard.data.seen import pair_hash, similar_hash
from regard.errors import DataError, shown
from regard.files import to_json, write_whole
from regard.foreign import bounded_lines, parse_json
from regard.settings import Record
from regard.tasks.improve.arguments import OWN_FILTERS, ImproveArguments
from regard.tasks.improve.plan import REVERSE, SUMMARY, TEXT, TRANSLATIONS, TranslateStage
from regard.tasks.improve.texts import SIDES, read_sides, real_pairs

DROPPED = "dropped.tsv"


class Written(Record):
    """A line of translations.jsonl, as `regard translate --json` writes it."""

    source: str
    translation: str
    score: float | None = None
    finished: bool = True


def filter_translations(
    stage: TranslateStage, arguments: ImproveArguments, languages: LanguagePair, out: Path
) -> dict[str, Any]:
    """Write the kept and the dropped pairs of a stage; returns its summary. What keeps nothing is refused, but for duplicates alone."""
    home, real = out / stage.place, list(real_pairs(out / TEXT))
    without = tuple(name for name in arguments.without if name in FILTERS)
    if not arguments.language_check:
        without = (*without, "language")
    settings = CleanSettings(without=tuple(dict.fromkeys(without)))
    judge = Judge(lambda: _numbered(real), languages, settings, None)
    judge.remember(_hashes(real))
    for place in stage.earlier:
        judge.remember(_hashes(read_sides(*(out / place / f"kept.{side}" for side in SIDES))))
    kept: list[Pair] = []
    counts: Counter[str] = Counter()
    dropped, number = ["\t".join(("line", "filter", "value", *SIDES))], 0
    with activity("filtering the translations"):
        for block in _blocks(home / TRANSLATIONS):
            pairs = [_pair(written, stage) for written in block]
            reasons = [_own_reason(written, arguments) for written in block]
            open_rows = [row for row, reason in enumerate(reasons) if reason is None]
            lines: list[Line] = [(number + row + 1, pairs[row], None) for row in open_rows]
            for row, reason in zip(open_rows, judge(lines, number)[0], strict=True):
                reasons[row] = reason
            for row, (pair, reason) in enumerate(zip(pairs, reasons, strict=True)):
                if reason is None:
                    kept.append(pair)
                    continue
                counts[reason[0]] += 1
                cells = (number + row + 1, *reason, *pair)
                dropped.append("\t".join(shown(cell, _WHOLE) for cell in cells))
            number += len(block)
    name, many = counts.most_common(1)[0] if counts else ("empty", 0)
    if not kept and name != "duplicate":  # nothing that is new, as of a further seed, is no mistake
        fix = f"or leave that filter out (--without {name})" if name != "empty" else "or give other text"
        kept_model = f"; --reverse {out / REVERSE} keeps that model" if stage.models == (REVERSE,) else ""
        raise DataError(
            f"{home / TRANSLATIONS}: no translation is left of {number:,}, {many:,} of them dropped as {name!r}; "
            f"train the model longer, {fix}, and give another --out{kept_model}"
        )
    for side, suffix in enumerate(SIDES):
        write_whole(home / f"kept.{suffix}", "".join(f"{pair[side]}\n" for pair in kept))
    write_whole(home / DROPPED, "".join(f"{line}\n" for line in dropped))
    asked = [*(name for name in OWN_FILTERS if name not in arguments.without), *judge.asked]
    summary = {"sentences": number, "kept": len(kept), "dropped": {name: counts[name] for name in asked}}
    write_whole(home / SUMMARY, to_json(summary))  # last: it says that the stage is done
    return summary


_WHOLE = 1 << 30


def _own_reason(row: Written, arguments: ImproveArguments) -> Reason | None:
    """Why a translation is dropped by itself."""
    asked = [name for name in OWN_FILTERS if name not in arguments.without]
    if "unfinished" in asked and not row.finished:
        return "unfinished", ""
    least = arguments.min_score
    if "score" in asked and least is not None and row.score is not None and row.score < least:
        return "score", f"{row.score:.2f}"
    if "repetition" in asked:
        loop = loop_in(row.translation.lower().split())
        if loop is not None and loop_in(row.source.lower().split()) is None:
            return "repetition", loop
    return None


def _pair(row: Written, stage: TranslateStage) -> Pair:
    """The pair in the order of RUN, each side as one line."""
    sides = tuple(" ".join(text.splitlines()).strip() for text in (row.source, row.translation))
    return (sides[0], sides[1]) if stage.direction == "forward" else (sides[1], sides[0])


def _blocks(path: Path) -> Iterator[list[Written]]:
    block: list[Written] = []
    for number, raw in enumerate(bounded_lines(path), 1):
        where = f"{path}:{number}"
        block.append(Written.parse(parse_json(raw.decode("utf-8"), where), where))
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


def _numbered(pairs: Sequence[Pair]) -> Iterator[Line]:
    return ((number, pair, None) for number, pair in enumerate(pairs, 1))


def _hashes(pairs: Sequence[Pair]) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    rows = [(pair_hash(*pair), similar_hash(*pair)) for pair in pairs]
    return np.array(rows, dtype=np.uint64).reshape(-1, 2)


def counts_line(summary: dict[str, Any]) -> str:
    """The counts of a summary in one line."""
    dropped = {name: count for name, count in summary["dropped"].items() if count}
    listed = ", ".join(f"{name} {count:,}" for name, count in dropped.items())
    return f"{summary['kept']:,} of {summary['sentences']:,} kept{f'; dropped: {listed}' if listed else ''}"

"""The views that the report of a captioner has beside the generic page: its captions, and pictures with the map of each word."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.data.caption_config import CaptionData
from regard.data.captioned import Described, prepare_captions
from regard.errors import RegardError
from regard.explain.arrays import NamedArray
from regard.explain.captions import CaptionMaps, caption_maps
from regard.explain.records import Report, Row, SentenceResult
from regard.files import cache_directory
from regard.metrics.translation import sentence_chrf
from regard.tasks.caption.captioner import Captioner, ReadPicture
from regard.tasks.table import TASKS
from regard.text.config import OneTextConfig

SHOWN_CAPTIONS = 12
WORST_PICTURES, OTHER_PICTURES = 4, 4


def add_caption_views(report: Report, rows: Sequence[Row], bundle: OpenBundle | None) -> Report:
    """The report with the views of a captioner. Pictures are left out if there is no bundle yet, or they are no longer there."""
    ranked = sorted(range(len(rows)), key=lambda number: _chrf(rows[number]))
    results = [_result(rows[number]) for number in ranked]
    report = replace(report, worst=results[:SHOWN_CAPTIONS], best=results[::-1][: SHOWN_CAPTIONS // 2])
    if bundle is None or not rows:
        return report
    chosen = list(dict.fromkeys([*ranked[:WORST_PICTURES], *range(min(OTHER_PICTURES, len(rows)))]))
    try:
        read = _pictures(report.settings, bundle, [str(rows[number]["picture"]) for number in chosen])
    except RegardError:  # the files have been moved: the rest of the page can do without them
        return report
    captioner: Captioner = TASKS["caption"].load(bundle, "cpu", "torch", "float32")
    return replace(report, captioned=_maps(captioner, read, [rows[number] for number in chosen]))


def _maps(
    captioner: Captioner, read: Sequence[tuple[ReadPicture, Described]], rows: Sequence[Row]
) -> list[CaptionMaps]:
    texts = [str(row["hypothesis"]) for row in rows]
    maps = captioner.look([picture for picture, _ in read], texts)
    return [
        caption_maps(
            picture,
            own.words,
            NamedArray.of(own.weights, "word", "row", "column"),
            text,
            reference=str(row["reference"]),
            gold=described.regions[0],
        )
        for (picture, described), own, text, row in zip(read, maps, texts, rows, strict=True)
        if own.words
    ]


def _pictures(settings: Any, bundle: OpenBundle, names: Sequence[str]) -> list[tuple[ReadPicture, Described]]:
    """The evaluated pictures of these names, from the prepared corpus of the run."""
    data = CaptionData.parse(settings.get("data", {}), "data")
    text = OneTextConfig.parse(settings.get("text", {}), "text")
    start = (settings.get("train") or {}).get("start")
    base = (None, None) if start is None else (bundle.tokenizers, bundle.config.shape)
    prepared = prepare_captions(data, text, cache_directory() / "corpora", None, *base)
    corpus = prepared.valid if prepared.test is None else prepared.test
    places = {name: number for number, name in enumerate(corpus.images.names)}
    return [(ReadPicture(name, corpus.images.pixels[places[name]]), corpus.described[places[name]]) for name in names]


def _chrf(row: Row) -> float:
    references = row.get("references") or [row["reference"]]
    return max(sentence_chrf(row["hypothesis"], reference) for reference in references)


def _result(row: Row) -> SentenceResult:
    return SentenceResult(row["picture"], row["reference"], row["hypothesis"], row["score"], _chrf(row))

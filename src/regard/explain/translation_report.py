"""The views that the report of a translator has beside the generic page: its sentences, alignments, a search and its heads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.data.corpus_config import direction_name
from regard.explain.beam_tree import beam_tree
from regard.explain.explain import explain
from regard.explain.explanation import Part
from regard.explain.records import AlignmentMap, Report, Row, SentenceResult
from regard.metrics.alignment import parse_pharaoh
from regard.metrics.translation import sentence_chrf
from regard.tasks.table import TASKS
from regard.tasks.translate.translator import Translator

SHOWN_SENTENCES = 12
SHOWN_MAPS = 8
TREE_BEAM = 3
EXPLAINED_PARTS: tuple[Part, ...] = ("computation",)
MAP_WORDS = (4, 24)  # source words of a mapped sentence: not trivial, and fits a screen
EXPLAINED_WORDS = (5, 9)  # source words of the sentence that is searched and explained


def add_translation_views(report: Report, rows: Sequence[Row], bundle: OpenBundle | None) -> Report:
    """The report with the views of a translator. Views that run the model are left out if there is no bundle yet."""
    ranked = sorted(map(_sentence_result, rows), key=lambda sentence: sentence.chrf)
    report = replace(report, worst=ranked[:SHOWN_SENTENCES], best=ranked[::-1][: SHOWN_SENTENCES // 2])
    if bundle is None:
        return report
    translator: Translator = TASKS["translate"].load(bundle, "cpu", "torch", "float32")
    shown_rows = rows or _last_samples(report.events)
    if translator.directions.seen:  # the maps and the search are of one direction
        translator, shown_rows = _one_direction(translator, shown_rows)
    report = replace(report, alignments=_alignment_maps(translator, shown_rows, aligns=bundle.config.aligns))
    sentence = _sentence_to_explain(shown_rows)
    if sentence is None:
        return report
    _, tree = beam_tree(translator, sentence, beam=TREE_BEAM)
    return replace(report, beam_tree=tree, explanation=explain(translator, sentence, parts=EXPLAINED_PARTS))


def _one_direction(translator: Translator, rows: Sequence[Row]) -> tuple[Translator, Sequence[Row]]:
    """The model in the direction of the first row, and the rows of that.

    The samples of an unfinished run do not tell theirs; then it is the first direction of the last training.
    """
    seen = translator.directions.seen
    by_name = {direction_name(one.pair): one.pair for one in seen}
    trained = next((one.pair for one in seen if one.pairs), seen[0].pair)
    source, target = next((by_name[row["direction"]] for row in rows if row.get("direction") in by_name), trained)
    name = direction_name((source, target))
    return translator.towards(target, source), [row for row in rows if row.get("direction") == name]


def _sentence_result(row: Row) -> SentenceResult:
    source, reference, hypothesis = row["source"], row["reference"], row["hypothesis"]
    return SentenceResult(source, reference, hypothesis, row["score"], sentence_chrf(hypothesis, reference))


def _alignment_maps(translator: Translator, rows: Sequence[Row], *, aligns: bool) -> list[AlignmentMap]:
    """Alignments of a few source sentences with their references, longest first; empty if the model has no cross-attention.

    The references are aligned, not the hypotheses, because the gold links are those of the references.
    """
    if not aligns:
        return []
    fitting = [row for row in rows if MAP_WORDS[0] <= len(row["source"].split()) <= MAP_WORDS[1]] or rows
    by_length = sorted(fitting, key=lambda row: -len(row["source"].split()))
    chosen = by_length[:: max(1, len(by_length) // SHOWN_MAPS)][:SHOWN_MAPS]
    alignments = translator.align([row["source"] for row in chosen], [row["reference"] for row in chosen])
    return [
        AlignmentMap(
            source_words=alignment.source_words,
            target_words=alignment.target_words,
            weights=alignment.weights.tolist(),
            links=alignment.links,
            gold=sorted(parse_pharaoh(row["gold"])[1]) if "gold" in row else None,
        )
        for row, alignment in zip(chosen, alignments, strict=True)
        if alignment.source_words and alignment.target_words
    ]


def _sentence_to_explain(rows: Sequence[Row]) -> str | None:
    """The first source sentence of a suitable length."""
    shortest, longest = EXPLAINED_WORDS
    return next((row["source"] for row in rows if shortest <= len(row["source"].split()) <= longest), None)


def _last_samples(events: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
    """The samples of the last validation."""
    for event in reversed(events):
        if event.get("event") == "validated":
            samples: Sequence[Row] = [sample for sample in event.get("samples") or () if _is_pair(sample)]
            return samples
    return []


def _is_pair(sample: Row) -> bool:
    return "source" in sample and "reference" in sample

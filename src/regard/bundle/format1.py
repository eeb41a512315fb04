"""Reads bundles and runs of format 1 as format 2: drops settings of other tasks, renames settings and tensors."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from regard.settings import groups_at

RENAMED = {("alignment", "said"): "shift"}
"""(table, key) of format 1 -> the key of format 2."""


KEYS: dict[str, set[str]] = {
    "": {
        *(
            "alignment",
            "created",
            "data",
            "format",
            "labels",
            "labels_of",
            "languages",
            "model",
            "regard",
            "task",
            "text",
        ),
        *("texts", "train", "vocabulary"),
    },
    "data": {
        *(
            "alignments",
            "documents",
            "labelled",
            "labels_of",
            "max_length",
            "pairs",
            "pocket",
            "seed",
            "src",
            "src_lang",
        ),
        *("test_labelled", "test_src", "test_text", "test_tgt", "text", "tgt", "tgt_lang", "valid_labelled"),
        *("valid_pairs", "valid_src", "valid_text", "valid_tgt"),
    },
    "text": {"character_coverage", "dropout", "form", "joint", "kind", "lowercase", "sample", "vocabulary"},
    "model": {
        *(
            "activation",
            "attention",
            "bidirectional",
            "binary",
            "buckets",
            "cell",
            "decoder_layers",
            "dropout",
            "embedding",
        ),
        *("encoder", "encoder_layers", "encoder_width", "feed_forward", "heads", "input_feeding", "kernel", "kind"),
        *("layers", "mask", "max_positions", "ngrams", "norm", "opening", "order", "pooling", "positions", "preset"),
        *("score", "score_width", "skips", "smoothing", "tie", "weighting", "width"),
    },
    "train": {"alignment_weight", "alignment_layer"},
}
"""The keys of format 1, by table (of `train` those that only one task has). Where a class of format 2 lacks one, another task has it."""


def upgraded_config(values: Mapping[str, Any], group: type[BaseModel]) -> dict[str, Any]:
    """A format-1 config.json, of a bundle or a run, without the settings of other tasks; `group`: its class in format 2.

    Keys that format 1 did not have stay, and are refused as everywhere.
    """
    added = {"format": 2, "extensions": []}
    upgraded: dict[str, Any] = {name: value for name, value in added.items() if name in group.model_fields}
    for name, value in values.items():
        if name == "format" or (name in KEYS[""] and name not in group.model_fields):
            continue
        if isinstance(value, Mapping) and name in group.model_fields:
            value = _fields(name, value, groups_at(group, [name]))
        upgraded[name] = value
    return upgraded


def renamed_keys(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A table with the key names of format 2."""
    return {RENAMED.get((table, name), name): value for name, value in values.items()}


def _fields(table: str, values: Mapping[str, Any], groups: list[type[BaseModel]]) -> dict[str, Any]:
    """A table without the keys of format 1 that its group (the one of the same kind) does not have."""
    fitting = [group for group in groups if "kind" not in values or _kind(group) in (None, values["kind"])] or groups
    field_names = {name for group in fitting for name in group.model_fields}
    dropped = KEYS.get(table, set()) - field_names
    return {name: value for name, value in renamed_keys(table, values).items() if name not in dropped}


def _kind(group: type[BaseModel]) -> Any:
    field = group.model_fields.get("kind")
    return None if field is None else field.default


TENSORS = (
    (r"^(source|target)_(embedding|positions)\.", r"\1.\2."),
    (r"^source_bias\.", "encoder_bias."),
    (r"^target_bias\.", "decoder_bias."),
    (r"^(encoder|decoder)\.(\d+)\.(around_)?attention\.", r"\1.\2.\3mixer."),
)
"""(pattern of a tensor's name in format 1, its name in format 2)."""


def tensor_name(old: str) -> str:
    """The name in format 2 of a tensor of format 1; unchanged if it was not renamed."""
    for pattern, replacement in TENSORS:
        new, count = re.subn(pattern, replacement, old)
        if count:
            return new
    return old

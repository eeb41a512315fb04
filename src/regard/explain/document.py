"""Builds a self-contained HTML file: the data of a page as JSON, and the style and scripts of `page/`.

It escapes text and converts values to JSON. The caller and the scripts agree on what the data means.
"""

import base64
import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import resources
from typing import Any

import numpy as np

from regard.explain.arrays import NamedArray

TEXT_LIMIT = 4_000  # characters of one sentence; a line of 100,000 must not make the page heavy


def document(title: str, data: Any, scripts: Iterable[str]) -> str:
    """The whole page as a string that can be encoded as UTF-8. `data`: a result of `to_json_types`."""
    parts = {
        "title": html.escape(f"{shown_text(title)} · regard"),
        "style": page_file("report.css"),
        "data": script_safe(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))),
        "script": bundle_scripts(scripts),
    }
    # One pass, so that a placeholder inside a sentence is not expanded.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page_file("report.html"))


def page_file(name: str) -> str:
    return resources.files("regard.explain").joinpath("page", name).read_text(encoding="utf-8")


def bundle_scripts(names: Iterable[str]) -> str:
    """The ES modules of `page/`, joined into one inline script, which cannot import files.

    This relies on two rules for the modules: imports are one line each, and no top-level name is used twice.
    """
    modules = []
    for name in names:
        text = re.sub(r'^import \{[^}\n]*\} from "\./\w+\.js";\n', "", page_file(name), flags=re.MULTILINE)
        modules.append(f"// {name}\n" + re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n".join(modules)


def script_safe(text: str) -> str:
    """JSON text escaped for a script element: no character can end the element or a line of script."""
    return re.sub(r"[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def to_json_types(value: Any, *, packed: bool = False, cut: bool = True) -> Any:
    """A value converted to JSON types. A non-finite number becomes null, a dataclass a dict of its fields.

    `packed`: a `NamedArray` becomes base64 of little-endian float32, which keeps infinities. `cut`: long texts are cut.
    """
    inner = partial(to_json_types, packed=packed, cut=cut)
    text = shown_text if cut else whole_text
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return text(value)
    if isinstance(value, NamedArray):
        return _array(value, packed)
    if is_dataclass(value):
        return {field.name: inner(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {text(str(name)): inner(item) for name, item in value.items()}
    if hasattr(value, "tolist"):  # a numpy or torch array or number
        return inner(value.tolist())
    if isinstance(value, Iterable):
        return [inner(item) for item in value]
    return str(value)


def _array(array: NamedArray, packed: bool) -> dict[str, Any]:
    header: dict[str, Any] = {"axes": list(array.axes), "shape": list(array.values.shape)}
    if packed:
        return {**header, "float32": base64.b64encode(array.values.astype("<f4").tobytes()).decode("ascii")}
    # the fewest digits that identify a float32
    shortest = array.values.astype(str).astype(np.float64)
    finite = bool(np.isfinite(shortest).all())
    return {**header, "values": shortest.tolist() if finite else to_json_types(shortest.tolist())}


def shown_text(text: str) -> str:
    """The text for a page: cut if it is very long."""
    return whole_text(text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…")


def whole_text(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, so that UTF-8 can encode it."""
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)

"""One HTML file that needs no network and no other file: the data of a page, its style and its modules, from `page/`.

Knows how values become JSON and text stays text. What the data means is known to whoever hands it in, and to the modules.
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
    """The whole page as one string that can be encoded as UTF-8. `data` is what `plain` gives."""
    parts = {
        "title": html.escape(f"{shown_text(title)} · regard"),
        "style": page_file("report.css"),
        "data": script_safe(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))),
        "script": bundle_scripts(scripts),
    }
    # One pass, so that a placeholder inside of a sentence is text and nothing else.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page_file("report.html"))


def page_file(name: str) -> str:
    return resources.files("regard.explain").joinpath("page", name).read_text(encoding="utf-8")


def bundle_scripts(names: Iterable[str]) -> str:
    """ES modules joined into one that stands inside of a page, where no module can import its neighbour.

    The modules keep to what makes this sound: one-line imports of neighbours only, and no top-level name used twice.
    """
    modules = []
    for name in names:
        text = re.sub(r'^import \{[^}\n]*\} from "\./\w+\.js";\n', "", page_file(name), flags=re.MULTILINE)
        modules.append(f"// {name}\n" + re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n".join(modules)


def script_safe(text: str) -> str:
    """JSON that may stand in a script element: no character in it can end the element or a line of script."""
    return re.sub(r"[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def plain(value: Any, *, packed: bool = False, cut: bool = True) -> Any:
    """A value as JSON can hold it; a number that is not finite becomes null, a record its fields by name.

    packed: arrays with named axes as base64 of little-endian float32, in which infinity stays what it is. cut: texts as a page shows them.
    """
    inner = partial(plain, packed=packed, cut=cut)
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
    if hasattr(value, "tolist"):  # an array or a number of numpy's or torch's
        return inner(value.tolist())
    if isinstance(value, Iterable):
        return [inner(item) for item in value]
    return str(value)


def _array(array: NamedArray, packed: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"axes": list(array.axes), "shape": list(array.values.shape)}
    if packed:
        return {**told, "float32": base64.b64encode(array.values.astype("<f4").tobytes()).decode("ascii")}
    # the digits that tell a float32 from its neighbours, and no more
    shortest = array.values.astype(str).astype(np.float64)
    finite = bool(np.isfinite(shortest).all())
    return {**told, "values": shortest.tolist() if finite else plain(shortest.tolist())}


def shown_text(text: str) -> str:
    """A text as the page can hold it: a very long one is cut."""
    return whole_text(text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…")


def whole_text(text: str) -> str:
    """A text as UTF-8 can hold it: half of a surrogate pair becomes U+FFFD."""
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)

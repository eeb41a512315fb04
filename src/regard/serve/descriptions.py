"""The bodies of LibreTranslate's routes, for `/spec`: the routes read them by themselves, from JSON and from forms."""

from typing import Any

_TEXT = {"type": "string"}
_KEY = {"api_key": {"type": "string", "description": "The key, where the server needs one."}}


def _body(required: list[str], properties: dict[str, Any], *kinds: str) -> dict[str, Any]:
    schema = {"type": "object", "required": required, "properties": {**properties, **_KEY}}
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


_BOTH = ("application/json", "application/x-www-form-urlencoded")
_TEXTS = {
    "oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": _TEXT, "minItems": 1}],
    "description": "A text, or a list of texts.",
}

_TERMS = {
    "glossary": {
        "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}}],
        "description": "Terms to obey, of regard's own: pairs of a term and its translation or several, or lines of a file.",
    },
    "protect": {
        "oneOf": [{"type": "string"}, {"type": "array", "items": _TEXT}],
        "description": "Strings that stay as they are, of regard's own; default and numbers are patterns.",
    },
}

TRANSLATE_BODY = _body(
    ["q", "source", "target"],
    {
        "q": _TEXTS,
        "source": {"type": "string", "description": "A language code, or auto."},
        "target": {"type": "string", "description": "A language code."},
        "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
        "alternatives": {"type": "integer", "minimum": 0, "default": 0},
        **_TERMS,
    },
    *_BOTH,
)
DETECT_BODY = _body(["q"], {"q": {"type": "string", "minLength": 1}}, *_BOTH)
SUGGEST_BODY = _body(
    ["q", "s", "source", "target"],
    {
        "q": {"type": "string", "description": "The text."},
        "s": {"type": "string", "description": "A better translation of it."},
        "source": _TEXT,
        "target": _TEXT,
    },
    *_BOTH,
)
FILE_BODY = _body(
    ["file", "source", "target"],
    {"file": {"type": "string", "format": "binary"}, "source": _TEXT, "target": _TEXT, **_TERMS},
    "multipart/form-data",
)

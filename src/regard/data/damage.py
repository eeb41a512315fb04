"""Signs of damage in one text: a wrong encoding, control characters, mixed scripts, remains of HTML. It reads no files."""

import re

# What bytes 0x80 to 0xbf become when UTF-8 is read as Windows-1252 or Latin-1, and as Windows-1251.
_LATIN = "\u0080-\u00bf" + bytes(range(0x80, 0xA0)).decode("cp1252", "ignore")
_CYRILLIC = re.escape(bytes(range(0x80, 0xC0)).decode("cp1251", "ignore"))
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ufffe\uffff]")
_LOST = re.compile("[\ufffd\ue000-\uf8ff]")
_MOJIBAKE = re.compile(
    rf"[ÂÃÄÅ][{_LATIN}]"  # Latin letters and signs
    rf"|â€[{_LATIN}]|â‚¬|ï»¿"  # quotes and dashes, the euro sign, a byte-order mark
    rf"|(?:[ÐÑ][{_LATIN}]){{3}}|(?:[ÎÏ][{_LATIN}]){{3}}"  # Cyrillic and Greek; one alone may be right
    rf"|(?:[РС][{_CYRILLIC}]){{3}}"
)
_LATIN_LETTER, _CYRILLIC_LETTER = "A-Za-z\u00c0-\u024f", "\u0400-\u04ff"
_MIXED = re.compile(f"[{_LATIN_LETTER}][{_CYRILLIC_LETTER}]|[{_CYRILLIC_LETTER}][{_LATIN_LETTER}]")
_TAG = re.compile(
    r"</?(?:a|b|body|br|center|div|em|font|h[1-6]|html|i|img|li|ol|p|pre|script|small|span|strong|style|sub|sup|t[dhr]|table|u|ul)"
    r"(?:\s[^<>]*)?/?>|<!--|<!\[CDATA\[|<!DOCTYPE",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});", re.IGNORECASE)
MOSES_ESCAPES = frozenset({"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#91;", "&#93;", "&#124;"})
"""What the tokeniser of Moses writes for characters that its other programs need."""


def encoding_damage(text: str) -> str | None:
    """The first sign that a text was decoded wrongly or is no text; None: there is none."""
    if text.isascii() and text.isprintable():
        return None
    if found := _CONTROL.search(text):
        return f"control U+{ord(found[0]):04X}"
    if text.isascii():
        return None
    if found := _LOST.search(text):
        return f"{'replacement' if found[0] == chr(0xFFFD) else 'private'} U+{ord(found[0]):04X}"
    if found := _MOJIBAKE.search(text):
        return f"mojibake {found[0]}"
    if found := _MIXED.search(text):
        return f"mixed scripts {found[0]}"
    return None


def markup(text: str, moses: bool = False) -> str | None:
    """The first tag or entity of HTML; None: there is none. moses: the text is escaped as by Moses, whose entities belong to it."""
    if "<" in text and (found := _TAG.search(text)):
        return found[0][:40]
    if "&" in text:
        return next((found[0] for found in _ENTITY.finditer(text) if not moses or found[0] not in MOSES_ESCAPES), None)
    return None


def is_moses_escaped(text: str) -> bool:
    """Whether a text has an entity of Moses's tokeniser."""
    return "&" in text and any(found[0] in MOSES_ESCAPES for found in _ENTITY.finditer(text))

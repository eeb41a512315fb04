"""Markdown (CommonMark, tables and strikethrough): the text of a paragraph, heading, item or cell is a segment.

Code, addresses of links, pictures, HTML blocks, reference definitions and front matter are not touched. Emphasis, links and inline HTML are
tags. Marks of tasks and alerts, links of wikis and references to footnotes stay as they are, and so does a block whose lines cannot be
found again in the file, as behind tabs or escaped bars.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.documents.lines import wrapped
from regard.documents.markup import Segment
from regard.documents.patched import Slot, TextDocument, decoded, line_end
from regard.documents.tags import Run, Token, runs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token as MarkdownToken

MOST_COLUMNS = 1000
"""Bars of a line beyond which a page has no tables: reading one takes time with the square of its columns."""
_FRONT = re.compile(
    r"(?:---[ \t]*\r?\n.*?\r?\n(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?\r?\n\+\+\+)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
_TICKS = re.compile(r"(`++)(?!`)")
_BREAK = re.compile(r"[ \t]*+\\?\n[ \t]*+")
_HTML_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][-\w]*+)[^>]*+>\Z")
_VOID = frozenset({"br", "img", "wbr", "input", "hr"})
_EMPHASIS = {"em": "em", "strong": "strong", "s": "s"}
_ACTIVE = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[a-zA-Z/!?])|&(?=#?\w+;)|~~")
_GROUP = re.compile(r"(?<!\[)\[(?![xX]\]|[ ^!])(?P<label>[^\[\]\\`*_<>&~|\n]++)\](?![(\[:\]])")
"""Brackets that are text unless a definition has their label."""
_MARK = re.compile(
    r"\[\^[^\s\[\]]++\](?!\()|!?\[\[[^\[\]\n]++\]\](?![(\[])"  # a reference to a footnote, a wiki's link
)
_FIRST_MARK = re.compile(r"\[[ xX]\](?=[ \t])|\[![\w-]++\][-+]?(?=[ \t]*(?:\n|\Z))")
"""A mark of a task, or of the kind of an alert."""
_FOOTNOTE = re.compile(r"\[\^[^\s\[\]]++\]:[ \t]*+")
_BEGINS_BLOCK = re.compile(r"(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|\d{1,9}[.)](?=\s|$)|[-=]+\s*$|~~~|:?-+:?\s*\|)")


def read(content: bytes, name: str = "document") -> TextDocument:
    """A document of Markdown."""
    text, encoding = decoded(content, name)
    front = _FRONT.match(text)
    first = front.end() if front else 0
    lines = [match.span(1) for match in _LINE.finditer(text, first)]
    slots = list[Slot]()
    environment: dict[str, Any] = {"ends": {}}
    cell = (-1, 0)  # the line of the last cell of a table, and where it ends
    kinds = list[str]()
    parser = _parser(tables=all(text.count("|", *line) <= MOST_COLUMNS for line in lines))
    end_of_line = line_end(text)
    blocks = parser.parse(re.sub(r"\r\n?", "\n", text[first:]), environment)
    labels = environment.get("references", {})
    for block in blocks:
        if block.type != "inline":
            kinds = [block.type]
            continue
        if block.map is None:
            continue
        in_table = kinds[-1:] in (["td_open"], ["th_open"])
        start = cell[1] if in_table and cell[0] == block.map[0] else 0
        ranges = _lines_of(text, lines, block, start)
        if ranges is None:
            continue
        if in_table:
            cell = block.map[0], ranges[0][1] - lines[block.map[0]][0]
        last_line = lines[block.map[0] + len(ranges) - 1][0]
        own = _slots(
            *(text, block, ranges, environment["ends"], end_of_line),
            last_line=last_line,
            in_table=in_table,
            labels=labels,
        )
        slots.extend(own)
    return TextDocument(text, encoding, slots)


def _parser(*, tables: bool) -> "MarkdownIt":
    """A parser that keeps apart what is escaped, and records where links and pictures end."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("strikethrough").disable("text_join")
    if tables:
        parser.enable("table")
    for name in ("link", "image"):
        rules = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
        parser.inline.ruler.at(name, _recorded(rules[name]))
    parser.inline.ruler.before("link", "mark", _mark)
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph"]})
    return parser


def _recorded(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    def recorded(state: Any, silent: bool) -> bool:
        start = state.pos
        matches = rule(state, silent)
        if matches and not silent:
            state.env["ends"][state.src, start] = state.pos
        return matches

    return recorded


def _mark(state: Any, silent: bool) -> bool:
    """A rule for what other programs than CommonMark read in brackets. It is kept as it is."""
    match = _MARK.match(state.src, state.pos, state.posMax)
    if match is None and state.pos == 0:
        match = _FIRST_MARK.match(state.src)
    if match is None:
        return False
    if not silent:
        state.push("mark", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _footnote(state: Any, first: int, last: int, silent: bool) -> bool:
    """A rule for the text of a footnote: a paragraph behind its label."""
    begin = state.bMarks[first] + state.tShift[first]
    match = _FOOTNOTE.match(state.src, begin, state.eMarks[first])
    if match is None or state.sCount[first] - state.blkIndent >= 4:
        return False
    if silent:
        return True
    end = first + 1
    rules = state.md.block.ruler.getRules("paragraph")
    while end < last and not state.isEmpty(end) and state.sCount[end] >= state.blkIndent:
        if state.sCount[end] - state.blkIndent < 4 and any(rule(state, end, last, True) for rule in rules):
            break
        end += 1
    text = state.getLines(first, end, state.blkIndent, False).strip()[match.end() - begin :].strip()
    state.line = end
    state.push("paragraph_open", "p", 1).map = [first, end]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = text, [first, end], []
    state.push("paragraph_close", "p", -1)
    return True


def _lines_of(
    text: str, lines: Sequence[tuple[int, int]], block: "MarkdownToken", start: int
) -> list[tuple[int, int]] | None:
    """Where each line of a block's content stands in the file; None if it is not there as it is."""
    assert block.map is not None
    content, ranges = block.content.split("\n"), list[tuple[int, int]]()
    if len(content) > block.map[1] - block.map[0]:
        return None
    for number, part in enumerate(content):
        first, last = lines[block.map[0] + number]
        if start or "|" in text[first:last]:
            place = text.find(part, first + start, last)
        elif text.endswith(part, first, last):
            place = last - len(part)
        else:  # as `rfind`, whose time is that of both lengths multiplied
            found = text[first:last][::-1].find(part[::-1])
            place = found if found < 0 else last - found - len(part)
        if place < 0:
            return None
        ranges.append((place, place + len(part)))
    return ranges


def _slots(
    text: str,
    block: "MarkdownToken",
    ranges: list[tuple[int, int]],
    ends: dict[tuple[str, int], int],
    end_of_line: str,
    *,
    last_line: int,
    in_table: bool,
    labels: Collection[str],
) -> Iterator[Slot]:
    """The block as one slot for each of its runs. last_line: where its last line begins in the file."""
    spelled = _tokens(block, ends)
    if spelled is None:
        return
    tokens, places = spelled
    starts = [0]  # of each line in the content
    for first, last in ranges:
        starts.append(starts[-1] + last - first + 1)

    def in_file(place: int) -> int:
        line = bisect_right(starts, place, 0, len(ranges)) - 1
        return ranges[line][0] + place - starts[line]

    # a further line begins as the last does, or under the text of the only one; a cell of a table has one line
    prefix = text[last_line : ranges[-1][0]] if len(ranges) > 1 else ""
    if len(ranges) == 1 and not in_table:
        prefix = re.sub(r"[^\s>]", " ", text[last_line : ranges[0][0]])
    width = max(last - first for first, last in ranges)
    for run in runs(tokens):
        first, last = places[run.first], places[run.last]
        write = _writer(
            run,
            tokens,
            width if "\n" in block.content[first:last] else 0,
            end_of_line + prefix,
            in_table=in_table,
            begins=first == 0 or "\n" in tokens[run.first - 1].raw,
            labels=labels,
        )
        yield Slot(in_file(first), in_file(last), run.segment, write)


def _writer(
    run: Run,
    tokens: list[Token],
    width: int,
    line_break: str,
    *,
    in_table: bool,
    begins: bool,
    labels: Collection[str],
) -> Callable[[Segment], str]:
    from markdown_it.common.utils import normalizeReference

    has_groups = any(
        token.kind == "text" and token.raw == token.text and _GROUP.search(token.raw)
        for token in tokens[run.first : run.last]
    )

    has_links = any(token.kind == "open" and token.raw == "[" for token in tokens[run.first : run.last])

    def escaped(text: str) -> str:
        parts, place = list[str](), 0
        # brackets that the source has as text stay brackets; behind the last ones no link may follow
        for match in _GROUP.finditer(text) if has_groups else ():
            if normalizeReference(match["label"]) not in labels and (match.end() < len(text) or not has_links):
                parts += (_with_escapes(text[place : match.start()]), match[0])
                place = match.end()
        text = "".join([*parts, _with_escapes(text[place:])])
        return text.replace("|", "\\|") if in_table else text

    def write(segment: Segment) -> str:
        segment = replace(segment, spans=_with_words(segment, tokens))
        if width:
            segment = wrapped(segment, width, lambda word: not _BEGINS_BLOCK.match(word))
        written = run.write(tokens, segment, escaped)
        if begins and (start := _BEGINS_BLOCK.match(written)):
            place = start.end() - 1 if start[0][-1] in ".)" else 0
            written = f"{written[:place]}\\{written[place:]}"
        return written.replace("\n", line_break)

    return write


def _with_escapes(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match[0], text)


def _with_words(segment: Segment, tokens: list[Token]) -> "tuple[Any, ...]":
    """The tags without emphasis of nothing, which Markdown cannot write."""
    dropped = dict[int | None, int | None]()  # each with the kept tag around it; an outer tag comes first
    kept = []
    for span in segment.spans:
        parent = dropped.get(span.parent, span.parent)
        if not span.empty and span.start == span.end and tokens[span.tag].name in _EMPHASIS:
            dropped[span.tag] = parent
        else:
            kept.append(replace(span, parent=parent))
    return tuple(kept)


def _tokens(block: "MarkdownToken", ends: dict[tuple[str, int], int]) -> tuple[list[Token], list[int]] | None:
    """The content of a block as tokens, and where each begins and the last ends; None if the parser's tokens do not spell it."""
    content, place, opened = block.content, 0, list[int]()
    tokens, places = list[Token](), [0]
    in_autolink = False
    for child in block.children or []:
        kind = child.type.removesuffix("_open").removesuffix("_close")
        if len(places) == len(tokens):
            places.append(place)
        if in_autolink:
            in_autolink = child.type != "link_close"
            continue
        start = place
        match: re.Match[str] | None = None
        if child.type == "text":
            if not child.content:
                continue
            if not content.startswith(child.content, place):
                return None
            place += len(child.content)
            tokens.append(Token(child.content, "text", child.content))
            continue
        if child.type == "text_special":
            if not content.startswith(child.markup, place):
                return None
            place += len(child.markup)
            tokens.append(Token(child.markup, "text", child.content))
            continue
        if child.type == "mark":
            place += len(child.content)
            # an alert's mark has a line of its own
            tokens.append(Token(child.content, "break" if child.content.startswith("[!") else "empty"))
            continue
        if child.type in ("softbreak", "hardbreak"):
            match = _BREAK.match(content, place)
            if match is None:
                return None
            place = match.end()
            raw = content[start:place]
            tokens.append(Token(raw, "text", " ") if child.type == "softbreak" else Token(raw, "break"))
            continue
        if kind in _EMPHASIS:
            place += len(child.markup)
            spelled = content[start:place] == child.markup
        elif child.type == "code_inline":
            match = _TICKS.match(content, place)
            closing = None if match is None else re.compile(rf"(?<!`){match[1]}(?!`)").search(content, match.end())
            spelled = closing is not None
            place = place if closing is None else closing.end()
        elif child.type == "html_inline":
            place += len(child.content)
            spelled = content[start:place] == child.content
        elif child.type == "link_open" and child.markup == "autolink":  # its text is its address
            in_autolink, place = True, content.find(">", place) + 1
            spelled = place > start
        elif child.type == "link_open":
            opened.append(start)
            place += 1
            spelled = content[start] == "["
        elif child.type == "link_close":
            begin = opened.pop()
            place = ends.get((content, begin), start)
            if content[start:place] in ("]", "][]"):  # its text names it, so the name is written out
                tokens.append(Token(f"][{content[begin + 1 : start]}]", "close", name=kind))
                continue
            spelled = place > start
        elif child.type == "image":
            place = ends.get((content, start), start)
            spelled = place > start
        else:
            spelled = False
        if not spelled:
            return None
        tokens.append(_tag(content[start:place], child, kind))
    if place != len(content):
        return None
    return tokens, [*places, place] if len(places) == len(tokens) else places


def _tag(raw: str, child: "MarkdownToken", kind: str) -> Token:
    if child.type == "html_inline":
        tag = _HTML_TAG.match(raw)
        if tag is None or raw.endswith("/>") or tag["name"].lower() in _VOID:
            return Token(raw, "empty", separates=tag is not None and tag["name"].lower() == "br")
        return Token(raw, "close" if tag["end"] else "open", name="<" + tag["name"].lower())
    if child.nesting == 0 or child.markup == "autolink":
        return Token(raw, "empty")
    return Token(raw, "open" if child.nesting > 0 else "close", name=kind)

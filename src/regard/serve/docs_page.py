"""`/docs`: the routes of the server as a page, made from its description at `/spec`. It loads nothing from elsewhere."""

import json
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter()

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>regard: the API</title><style>{style}</style></head><body><main>
<h1>The API of this server</h1>
<p>The same as a description for programs: <a href="/spec">/spec</a>.</p>
"""
_STYLE = """:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.5}
main{max-width:46rem;margin:2rem auto;padding:0 1rem}
section{border-top:1px solid #8886;padding:.5rem 0}
h2{font-size:1.05rem;font-family:ui-monospace,monospace;margin:.5rem 0}
td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}
code,pre{font-family:ui-monospace,monospace;overflow-x:auto}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@router.get("/docs", response_class=HTMLResponse, include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """The page."""
    page = [_HEAD.format(style=_STYLE)]
    description = request.app.openapi()
    for path, operations in sorted(description["paths"].items()):
        for method, operation in operations.items():
            page.append(_operation(method.upper(), path, operation))
    page.append("</main></body></html>\n")
    return HTMLResponse("".join(page), headers={"Content-Security-Policy": POLICY})


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    """The section of a route: its summary and the fields of its body."""
    about = operation.get("description") or operation.get("summary", "")
    lines = [f"<section><h2>{escape(method)} {escape(path)}</h2><p>{escape(about)}</p>"]
    content = operation.get("requestBody", {}).get("content", {})
    for kind, body in list(content.items())[:1]:
        schema = body.get("schema", {})
        lines.append(f"<p>Body: {escape(', '.join(content) or kind)}</p><table>")
        for name, field in schema.get("properties", {}).items():
            needed = "required" if name in schema.get("required", ()) else "optional"
            what = field.get("description") or json.dumps(field.get("enum", field.get("type", "")))
            lines.append(f"<tr><th><code>{escape(name)}</code></th><td>{needed}</td><td>{escape(what)}</td></tr>")
        lines.append("</table>")
    return "".join([*lines, "</section>\n"])

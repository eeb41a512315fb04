"""A real browser, for the pages that need one: `apt-get install chromium` brings it."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"),
]


def dom_of(text: str, directory: Path, width: int = 1280) -> str:
    """The page after its scripts ran. Nothing may be written to the console, and no script may have failed."""
    page = directory / "report.html"
    page.write_text(text, encoding="utf-8")
    command = [
        str(BROWSER),
        *FLAGS,
        f"--window-size={width},2800",
        f"--user-data-dir={directory / 'profile'}",
        page.as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    said = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    assert said == [], said
    [root] = re.findall(r"<html[^>]*>", ran.stdout)
    assert 'data-ready="true"' in root
    assert "data-error" not in root
    return ran.stdout


def texts(dom: str, tag: str) -> list[str]:
    """The text of every element of a tag, in order."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", dom, flags=re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in found]


def measured(text: str, directory: Path, script: str, width: int = 1280) -> Any:
    """The value of a JavaScript expression on the page when it is drawn."""
    note = f"const note = document.createElement('pre'); note.id = 'seen'; note.textContent = JSON.stringify({script});"
    page = text.replace("</body>", f'<script type="module">{note} document.body.append(note);</script></body>')
    [seen] = re.findall(r'<pre id="seen">(.*?)</pre>', dom_of(page, directory, width), flags=re.DOTALL)
    return json.loads(html.unescape(seen))

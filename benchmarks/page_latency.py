"""How long the page `/` takes from a key to the painted translation, in a real Chromium: the last of 60 characters is typed, others before.

    regard serve runs/demo --port 5000 &
    python benchmarks/page_latency.py http://127.0.0.1:5000 --source fr --target en

Each text is a new sentence of the pocket corpus, of 56 to 64 characters, so nothing is in the page's memory. Chromium gets real key events.
The time runs in the page, from the timestamp of the input event to the frame after the one in which the translation has changed. The pause
that the page waits for further keys is part of it. Also shown: the part of the request to the server.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from decoding_programs import processor

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from regard.data.pocket.corpus import pocket_split
from serve.chromium import Chromium

LENGTHS = range(56, 65)
WATCH = """
window.measured = [];
let began = null;
document.getElementById("source").addEventListener("input", (event) => { began = event.timeStamp; });
new MutationObserver(() => {
  if (began === null || document.documentElement.dataset.translated !== "true") return;
  const from = began;
  began = null;
  requestAnimationFrame(() => setTimeout(() => {
    const [request] = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/translate")).slice(-1);
    window.measured.push({ painted: performance.now() - from, request: request.duration });
  }));
}).observe(document.documentElement, { attributeFilter: ["data-translated"] });
"""
PREPARE = """
const area = document.getElementById("source");
area.value = arguments[0];
area.dispatchEvent(new Event("input"));
area.setSelectionRange(area.value.length, area.value.length);
area.focus();
"""


def sentences(count: int) -> list[str]:
    """Different sentences of about 60 characters."""
    found = dict.fromkeys(pair.french for pair in pocket_split(300, 10, 40 * count).test if len(pair.french) in LENGTHS)
    if len(found) < count:
        raise SystemExit(
            f"only {len(found)} sentences of {LENGTHS.start} to {LENGTHS.stop - 1} characters; ask for fewer"
        )
    return list(found)[:count]


def measure(page: Chromium, texts: list[str]) -> list[dict[str, Any]]:
    """The times of each text's last key."""
    page.run(WATCH)
    for number, text in enumerate(texts):
        page.run(PREPARE, text[:-1])
        page.until("return document.documentElement.dataset.translated === 'true'")
        page.until(f"return measured.length === {2 * number + 1}")
        page.press(text[-1])
        page.until(f"return measured.length === {2 * number + 2}")
    return page.run("return measured")[1::2]


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="of a server that translates --source to --target")
    parser.add_argument("--source", default="fr")
    parser.add_argument("--target", default="en")
    parser.add_argument("--texts", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Chromium(Path(home)) as page:
        page.open(f"{arguments.address}/#source={arguments.source}&target={arguments.target}")
        texts = sentences(arguments.texts + 5)
        found = measure(page, texts)[5:]  # the first are of cold caches
        if trouble := page.trouble():
            raise SystemExit(f"the page complains: {trouble}")
    print(f"{processor()}; {len(found)} texts of {statistics.mean(map(len, texts)):.0f} characters")
    for name, key in (("from the key to the painted text", "painted"), ("of it, the request", "request")):
        values = [one[key] for one in found]
        shown = ", ".join(
            f"{label} {percentile(values, share):.0f}" for label, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
        )
        print(f"{name}: {shown}, longest {max(values):.0f} ms")


if __name__ == "__main__":
    main()

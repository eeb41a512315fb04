"""Makes src/regard/data/profiles/languages.json.gz, the letter statistics by which `regard data clean` tells languages apart.

    pip download langdetect --no-deps --no-binary :all:     # Apache License 2.0; counts of n-grams in Wikipedia
    python benchmarks/language_profiles.py langdetect-1.0.9/langdetect/profiles

For each language the most frequent trigrams of its words, lower-case, with a space where a word begins or ends; of Chinese, Japanese and
Korean the most frequent characters. A number is -8 times the natural logarithm of the share, rounded.
"""

import gzip
import json
import math
import sys
from collections import Counter
from pathlib import Path

from regard.data.language import IDEOGRAPH, PROFILES

MOST = 1200  # of a language
NAMES = {"zh-cn": "zh", "zh-tw": "zh-TW"}


def profile(path: Path) -> dict[str, int]:
    """n-gram -> -8 log share."""
    counts: Counter[str] = Counter()
    for gram, count in json.loads(path.read_text(encoding="utf-8"))["freq"].items():
        lower = gram.lower()
        if len(gram) == 1 and IDEOGRAPH.match(gram):
            counts[gram] += count
        elif len(gram) == 3 and len(lower) == 3 and gram != "   " and not IDEOGRAPH.search(gram):
            counts[lower] += count
    total = sum(counts.values())
    return {gram: round(-8 * math.log(count / total)) for gram, count in counts.most_common(MOST)}


def main() -> None:
    profiles = {NAMES.get(path.name, path.name): profile(path) for path in sorted(Path(sys.argv[1]).iterdir())}
    rows = {name: [list(grams), list(grams.values())] for name, grams in profiles.items()}
    content = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    PROFILES.write_bytes(gzip.compress(content, mtime=0))
    print(f"{len(rows)} languages, {PROFILES.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

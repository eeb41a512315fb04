"""Plants faults in a corpus and measures what `regard data clean` finds: the recall and the false alarms of each filter.

    python benchmarks/cleaning.py train.en train.de --third train.fr
    python benchmarks/cleaning.py tatoeba.en tatoeba.fr --third train.de --misaligned

Of each kind of fault 0.5 % of the pairs get one, at random places, each pair at most one. A false alarm is a pair that was not touched.
`third` is text of a third language. Pairs that the clean corpus repeats are taken out first.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from regard.data.clean import clean_corpus
from regard.data.filters import CleanSettings
from regard.data.formats import PairFiles
from regard.data.readers import read_all

SHARE = 0.005
Pair = tuple[str, str]
Plant = Callable[[Pair], Pair | None]


def plants(pairs: list[Pair], kept: list[Pair], third: list[str], rng: random.Random) -> dict[str, tuple[str, Plant]]:
    """Kind of fault -> (the filter that should find it, what makes it; None: not possible in this pair). kept: pairs to repeat."""

    def mojibake(pair: Pair) -> Pair | None:
        broken = pair[1].encode().decode("cp1252", "replace")
        return None if broken == pair[1] or "\ufffd" in broken else (pair[0], broken)

    def lost(pair: Pair) -> Pair | None:
        letters = [mark for mark in pair[1] if not mark.isascii()]
        return (pair[0], pair[1].replace(rng.choice(letters), "\ufffd")) if letters else None

    def cut(pair: Pair) -> Pair | None:
        words = pair[1].split()
        return (pair[0], " ".join(words[: len(words) // 4])) if len(words) >= 8 else None

    def joined(pair: Pair) -> Pair:
        return pair[0], " ".join([pair[1], *(rng.choice(pairs)[1] for _ in range(4))])

    def nearly(pair: Pair) -> Pair | None:
        words = pair[0].split()
        if len(words) < 6:
            return None
        del words[rng.randrange(len(words))]
        return pair[0], " ".join(words)

    def other_number(pair: Pair) -> Pair:
        return f"{pair[0]} ({rng.randrange(1900, 2030)})", f"{pair[1]} ({rng.randrange(1500, 1800)})"

    def one_number(pair: Pair) -> Pair:
        return pair[0], f"{pair[1]} {rng.randrange(13, 99999)}"

    def punctuation(_: Pair) -> Pair:
        other = rng.choice(kept)
        return other[0].upper(), f"{other[1].rstrip('.!?')} ..."

    long_text = " ".join(third[:60])
    return {
        "mojibake": ("encoding", mojibake),
        "lost letters": ("encoding", lost),
        "control character": ("encoding", lambda pair: (f"{pair[0][:5]}\x07{pair[0][5:]}", pair[1])),
        "Cyrillic a in a word": (
            "encoding",
            lambda pair: (pair[0].replace("a", "а", 2), pair[1]) if "a" in pair[0].strip("a ") else None,
        ),
        "tag": ("html", lambda pair: (pair[0], f"{pair[1]}<br />")),
        "entity": ("html", lambda pair: (pair[0].replace(" ", "&nbsp;", 1), pair[1]) if " " in pair[0] else None),
        "page in one line": ("length", lambda pair: (long_text, long_text[::-1])),
        "word without end": ("length", lambda pair: (f"{pair[0]} {'ab12' * 20}", pair[1])),
        "target cut to a quarter": ("ratio", cut),
        "target of five lines": ("ratio", joined),
        "copy": ("copy", lambda pair: (pair[0], pair[0]) if len(pair[0]) > 15 else None),
        "copy but for a word": ("copy", nearly),
        "other year": ("numbers", other_number),
        "number on one side": ("numbers", one_number),
        "link on one side": ("links", lambda pair: (pair[0], f"{pair[1]} www.example.org/{rng.randrange(9999)}")),
        "third language": ("language", lambda pair: (pair[0], rng.choice(third))),
        "swapped sides": ("language", lambda pair: (pair[1], pair[0])),
        "repeated": ("duplicate", lambda pair: rng.choice(kept)),
        "repeated, other punctuation": ("near-duplicate", punctuation),
        "target of another line": ("misaligned", lambda pair: (pair[0], rng.choice(pairs)[1])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--third", required=True)
    parser.add_argument("--misaligned", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="another threshold")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    pairs = list(dict.fromkeys(zip(read_all(given.source), read_all(given.target), strict=True)))
    third = read_all(given.third)
    first = len(pairs) // 5  # pairs at the beginning are not touched, so that others can repeat them
    kinds = plants(pairs, pairs[:first], third, rng)
    planted: dict[int, str] = {}
    places = iter(rng.sample(range(first, len(pairs)), len(pairs) - first))
    found = list(pairs)
    for kind, (_, make) in kinds.items():
        left = max(1, int(SHARE * len(pairs)))
        while left and (place := next(places, None)) is not None:
            changed = make(pairs[place])
            if changed is not None:
                found[place], planted[place], left = changed, kind, left - 1
    thresholds = {name: float(value) for name, value in (part.split("=") for part in given.set)}
    settings = CleanSettings.parse({"misaligned": given.misaligned, **thresholds}, "--set")
    with tempfile.TemporaryDirectory() as home:
        sides = Path(home) / Path(given.source).name, Path(home) / Path(given.target).name
        for side, path in enumerate(sides):
            path.write_text("".join(f"{pair[side]}\n" for pair in found), encoding="utf-8")
        clean_corpus(PairFiles("moses", (str(sides[0]), str(sides[1]))), Path(home) / "out", settings=settings)
        rows = (Path(home) / "out" / "dropped.tsv").read_text(encoding="utf-8").splitlines()[1:]
    dropped = {int(line) - 1: name for line, name, *_ in (row.split("\t") for row in rows)}
    print(f"{len(pairs):,} pairs, {len(planted):,} with a fault; {settings}")
    print("\n| fault | planted | dropped | by its filter |\n| --- | --- | --- | --- |")
    for kind, (name, _) in kinds.items():
        own = [place for place, other in planted.items() if other == kind]
        any_, right = sum(place in dropped for place in own), sum(dropped.get(place) == name for place in own)
        print(f"| {kind} | {len(own):,} | {any_ / max(1, len(own)):.1%} | {right / max(1, len(own)):.1%} `{name}` |")
    alarms = Counter(name for place, name in dropped.items() if place not in planted)
    print(f"\nfalse alarms of {len(pairs) - len(planted):,} untouched pairs: {dict(alarms)}")


if __name__ == "__main__":
    main()

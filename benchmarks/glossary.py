"""Glossaries of 50 terms on Multi30k: how often they are obeyed, and what that does to BLEU.

    python benchmarks/glossary.py DIR --data multi30k/raw --source en --target de --split val

DIR is a run on that text. The terms come from the training text alone, by IBM Model 1 (`data/lexicon.py`): of the nouns that occur in 0.1
to 5 % of its sentences every k-th, with its likeliest translation in the forms that the text has (the usual set: likely in both
directions), or with the second likeliest word (the harder set: what the model does not say by itself).

Each set is measured on the sentences that contain a term and on those that do not, beside the plain search.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import regard
from regard.data.lexicon import Lexicon
from regard.metrics.translation import bleu
from regard.search.options import SearchOptions
from regard.tasks.translate.terms.glossary import Entry, Glossary, said
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.terms.inflection import key
from regard.tasks.translate.translator import Translator

TERMS = 50
LEAST, LEAST_HARDER, SHARE_OF_FORM = 0.6, 0.05, 0.03
DETERMINERS, SHARE_OF_NOUNS = frozenset(("a", "an", "the", "his", "her", "their", "two", "three")), 0.25
"""A noun stands so often behind one of these."""
WAYS = {"plain": (), "replace": ("replace",), "search": ("search",), "search, then replace": ("search", "replace")}
_WORD = re.compile(r"[^\W\d_]+")


def chosen_terms(data: Path, source: str, target: str, *, harder: bool) -> list[Entry]:
    """The terms, from the training text."""
    texts = [(data / f"train.{language}").read_text(encoding="utf-8").splitlines() for language in (source, target)]
    sides = [[_WORD.findall(line) for line in lines] for lines in texts]
    sides[0] = [[word.lower() for word in words] for words in sides[0]]
    ids: list[dict[str, int]] = [{}, {}]
    rows = [
        [[own.setdefault(word, len(own)) for word in words] for words in side]
        for own, side in zip(ids, sides, strict=True)
    ]
    pairs = list(zip(rows[0], rows[1], strict=True))
    lexicon = Lexicon(pairs, len(ids[0]), len(ids[1]))
    backwards = Lexicon([(right, left) for left, right in pairs], len(ids[1]), len(ids[0]))
    words = list(ids[1])
    documents = Counter(word for line in sides[0] for word in set(line))
    before = Counter(word for line in sides[0] for left, word in pairwise(line) if left in DETERMINERS)
    occurrences = Counter(word for line in sides[0] for word in line)
    candidates = []
    for word, count in documents.most_common():
        noun = before[word] >= SHARE_OF_NOUNS * occurrences[word]
        if len(word) < 4 or not noun or not 0.001 <= count / len(rows[0]) <= 0.05:
            continue
        number = ids[0][word]
        groups: dict[
            str, list[tuple[str, float, float]]
        ] = {}  # the forms of one word, with p(target | source) and p(source | target)
        for place in lexicon.likely(number, 20, 0.01):
            shares = lexicon.probability(number, place), backwards.probability(place, number)
            if len(words[place]) >= 4:
                groups.setdefault(key(words[place], target), []).append((words[place], *shares))
        ranked = sorted(groups.values(), key=lambda group: -sum(share for _, share, _ in group))
        at = 1 if harder else 0
        least = LEAST_HARDER if harder else LEAST
        if (
            len(ranked) <= at
            or sum(share for _, share, _ in ranked[at]) < least
            or max(back for *_, back in ranked[at]) < least
        ):
            continue
        listed = tuple(form for form, share, _ in ranked[at] if share >= SHARE_OF_FORM) or (ranked[at][0][0],)
        candidates.append((word, listed))
    step = max(1, len(candidates) // TERMS)
    return [Entry(word, listed, number) for number, (word, listed) in enumerate(candidates[::step][:TERMS], 1)]


def measured(
    translator: Translator,
    glossary: Glossary,
    sources: Sequence[str],
    references: Sequence[str],
    options: SearchOptions,
) -> list[dict[str, object]]:
    """The rows of one set of terms: one for each way to obey it."""
    matches = [glossary.matches(source) for source in sources]
    have = [number for number, own in enumerate(matches) if own]
    others = [number for number, own in enumerate(matches) if not own]
    rows: list[dict[str, object]] = []
    plain: list[str] = []
    for way, repairs in WAYS.items():
        began = time.perf_counter()
        found = [one.text for one in Terms(glossary=glossary, repairs=repairs).search(translator, sources, options)]
        seconds = time.perf_counter() - began
        plain = plain or found
        obeyed = [
            all(said(found[number], glossary.accepted(match)) is not None for match in matches[number])
            for number in have
        ]
        listed = [
            all(said(found[number], match.entry.targets) is not None for match in matches[number]) for number in have
        ]
        with_terms = [[texts[number] for number in have] for texts in (found, references, plain)]
        rows.append(
            {
                "way": way,
                "sentences": len(have),
                "obeyed": sum(obeyed) / len(have),
                "in a listed form": sum(listed) / len(have),
                "changed": sum(found[number] != plain[number] for number in have),
                "BLEU with terms": bleu(with_terms[0], with_terms[1]).value,
                "difference": bleu(with_terms[0], with_terms[1]).value - bleu(with_terms[2], with_terms[1]).value,
                "others changed": sum(found[number] != plain[number] for number in others),
                "others": len(others),
                "seconds": seconds,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder multi30k/raw")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--split", default="val", help="val or test2016")
    parser.add_argument("--out", type=Path, help="write the rows and terms here, as JSON")
    arguments = parser.parse_args()
    translator = regard.load(arguments.model)
    sources, references = (
        (arguments.data / f"{arguments.split}.{language}").read_text(encoding="utf-8").splitlines()
        for language in (arguments.source, arguments.target)
    )
    results = {}
    for harder in (False, True):
        entries = chosen_terms(arguments.data, arguments.source, arguments.target, harder=harder)
        glossary = Glossary(entries, arguments.source, arguments.target)
        name = "harder" if harder else "usual"
        rows = measured(translator, glossary, sources, references, SearchOptions())
        results[name] = {"rows": rows, "terms": [[entry.source, *entry.targets] for entry in entries]}
        print(
            f"{name}: {len(entries)} terms, such as " + ", ".join(f"{e.source} = {e.targets[0]}" for e in entries[:5])
        )
        for row in rows:
            print(
                "  "
                + "  ".join(
                    f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                ),
                flush=True,
            )
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(results, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

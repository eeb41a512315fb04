"""Replies to test turns by the model of dialogue, by several searches: how varied they are, and how often the commonest is said.

    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment dialogue
    python benchmarks/replies.py --out text-tasks --data path/to/data

It trains nothing. 1,000 turns are answered by a beam, by a beam whose hypotheses the bigram model of replies ranks anew, and by samples.
What people said is the first row. Before it: the perplexity of all test replies by both models, per word, since their vocabularies differ.
"""

import argparse
import math
from collections import Counter
from pathlib import Path

from cells import Place, Values, kept, lines_of, run_of, slug
from text_tasks import dialogue

from regard.metrics.diversity import distinct
from regard.tasks.load import load_translator, load_writer
from regard.tasks.translate.reranking import Reranker

TURNS = 1_000
SEARCHES: dict[str, Values] = {
    "beam 10": {"beam": 10},
    "beam 10, reranked, weight 0.3": {"beam": 10, "weight": 0.3},
    "beam 10, reranked, weight 0.6": {"beam": 10, "weight": 0.6},
    "sampled, top-p 0.9": {"sample": True, "top_p": 0.9, "seed": 1},
    "20 samples, reranked, weight 0.3": {"sample": True, "top_p": 0.9, "seed": 1, "weight": 0.3, "among": 20},
}


def answered(model: Path, bigrams: Path, turns: list[str], options: Values) -> Values:
    """The replies of one search."""
    translator = load_translator(model)
    search = {name: value for name, value in options.items() if name not in ("weight", "among")}
    if "weight" in options:
        translator.reranker = Reranker(load_writer(bigrams), options["weight"], options.get("among", 10))
    return {"replies": [one.text for one in translator.translate(turns, max_length=40, **search)]}


def perplexities(model: Path, bigrams: Path, turns: list[str], said: list[str]) -> Values:
    """exp(-log p of all replies / their words) by the model of turns and by that of replies alone. End marks are predicted by both."""
    words = sum(len(reply.split()) for reply in said)
    found = {"turns": load_translator(model).score(turns, said), "bigrams": load_writer(bigrams).score(said)}
    return {name: math.exp(-sum(score.logprob for score in scores) / words) for name, scores in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the directory of benchmarks/text_tasks.py")
    parser.add_argument("--data", type=Path, required=True, help="the folder with dialogue")
    arguments = parser.parse_args()
    place = Place(arguments.data, arguments.out)
    counted, read = (run_of("dialogue", variant, variant.rates[0], 1, place) for variant in dialogue(place))
    turns, said = (lines_of(place.made / f"{name}.test") for name in ("turns", "replies"))
    by_word = kept(place.out / "replies" / "perplexity.json", lambda: perplexities(read, counted, turns, said))
    print(", ".join(f"perplexity per word, {name}: {value:.1f}" for name, value in by_word.items()))
    turns, said = turns[:TURNS], said[:TURNS]
    rows = {"people": said}
    for name, options in SEARCHES.items():
        path = place.out / "replies" / f"{slug(name)}.json"
        rows[name] = kept(path, lambda options=options: answered(read, counted, turns, options))["replies"]  # type: ignore[misc]
    for name, texts in rows.items():
        [(commonest, count)] = Counter(text.lower() for text in texts).most_common(1)
        words = sum(len(text.split()) for text in texts) / len(texts)
        varied = " ".join(f"{distinct(texts, n):.3f}" for n in (1, 2))
        print(f"{name}: distinct-1 and -2 {varied}, {words:.1f} words, {100 * count / len(texts):.1f} % {commonest!r}")


if __name__ == "__main__":
    main()

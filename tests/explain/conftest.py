"""A made-up run with everything that a report can show: 1,000 steps, 8 validations, 6 maps, a beam tree of width 4."""

import math
import random
from typing import Any

import pytest

from regard.explain.records import AlignmentMap, Report, SearchTree, SentenceResult, TreeNode

HOSTILE = "</script><script>alert(1)</script> <b>gras</b> & {{script}} \u2028 שלום עולם 👩‍🚀 \ud800"

PAIRS = [
    ("je suis étudiant", "I am a student", "0-0 1-1 2-2 2-3"),
    ("il m' a entarté", "he hit me with a pie", "0-0 3-1 1-2 3-3 3-4 3-5"),
    ("la petite fille ne mange pas les pommes rouges", "the little girl does not eat the red apples", None),
    ("où est la maison que tu as achetée hier ?", "where is the house that you bought yesterday ?", None),
    (
        "nous avons vu trois vieux bateaux blancs dans le port",
        "we saw three old white boats in the harbour",
        "0-0 1-1 2-1 3-2 4-3 6-4 5-5 7-6 8-7 9-8",
    ),
    ("elle les leur donnera demain", "she will give them to them tomorrow", "0-0 3-1 3-2 1-3 2-4 2-5 4-6"),
]


def log_events(steps: int = 1000, every: int = 125) -> list[dict[str, Any]]:
    dice = random.Random(7)
    events: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        nll = (
            6.2 * math.exp(-step / 140)
            + 0.35
            + 0.5 * math.exp(-step / 700)
            + dice.gauss(0, 0.12) * math.exp(-step / 900)
        )
        rate = 0.002 * min(step / 100, 1.0, max(0.0, (steps - step) / (steps - 100)))
        events.append(
            {
                "event": "step",
                "step": step,
                "epoch": step // 300,
                "loss": nll + 0.6 + dice.gauss(0, 0.02),
                "nll": nll,
                "learning_rate": rate,
                "gradient_norm": abs(dice.gauss(1.4, 0.3)) + 3 * math.exp(-step / 60),
                "tokens": 1800 + dice.randrange(300),
                "seconds": step * 0.16,
                "tokens_per_second": 12000 + dice.gauss(0, 500),
            }
        )
        if step > 100 and step % 50 == 10:
            events.append(diagnosed(step))
        if step % every == 0:
            events.append(validated(step, step / steps))
    events.append({"event": "stopped", "step": steps, "reason": "max_steps", "seconds": steps * 0.16})
    return events


DIAGNOSED_PARTS = [
    "embedding",
    "encoder.0.attention",
    "encoder.1.attention",
    "decoder.0.attention",
    "decoder.0.cross",
]


def diagnosed(step: int) -> dict[str, Any]:
    """Gradients that fade by half from part to part towards the input, and at step 510 explode in one of them."""
    parts = []
    for index, name in enumerate(DIAGNOSED_PARTS):
        gradient = 0.5 ** (len(DIAGNOSED_PARTS) - index) * (1 + step / 1000)
        if step == 510 and name == "decoder.0.attention":
            gradient *= 1000.0
        weight = 4.0 + index
        parts.append(
            {
                "name": name,
                "gradient": gradient,
                "weight": weight,
                "update": 1e-3 * weight * step / 500,
                "ratio": step / 5e5,
            }
        )
    return {"event": "diagnosed", "step": step, "seconds": step * 0.16, "parts": parts}


def validated(step: int, progress: float) -> dict[str, Any]:
    loss = 5.5 * math.exp(-step / 150) + 0.5
    samples = []
    for index, (source, target, _) in enumerate(PAIRS):
        words = target.split()
        known = min(len(words), math.ceil(len(words) * progress * (1.6 - 0.1 * index)))
        samples.append(
            {
                "source": source,
                "reference": target,
                "hypothesis": " ".join(words[:known] + ["the"] * (len(words) - known)),
            }
        )
    return {
        "event": "validated",
        "step": step,
        "seconds": step * 0.16,
        "loss": loss,
        "perplexity": math.exp(loss),
        "bleu": 97.3 * (1 - math.exp(-3.5 * progress)),
        "chrf": 98.4 * (1 - math.exp(-4.5 * progress)),
        "exact_match": 0.99 * progress**2,
        "samples": samples,
        "best": progress != 0.75,
    }


def alignment_map(source: str, target: str, gold: str | None) -> AlignmentMap:
    dice = random.Random(source)
    source_words, target_words = source.split(), target.split()
    links = [tuple(map(int, link.split("-"))) for link in gold.split()] if gold else None
    rows = []
    for column in range(len(target_words)):
        true = [s for s, t in links or [] if t == column] or [
            round(column * (len(source_words) - 1) / (len(target_words) - 1))
        ]
        raw = [dice.random() ** 3 * 0.4 + (3.0 if s in true else 0.0) for s in range(len(source_words))]
        rows.append([value / sum(raw) for value in raw])
    predicted = [(max(range(len(source_words)), key=rows[t].__getitem__), t) for t in range(len(target_words))]
    return AlignmentMap(source_words, target_words, rows, predicted, links)


def beam_tree(beam: int = 4, steps: int = 8) -> SearchTree:
    """The search for "il m' a entarté": beside the right words, others that a model might think of."""
    dice = random.Random(3)
    words = ["he", "hit", "me", "with", "a", "pie", ".", "</s>"]
    other = ["it", "she", "struck", "was", "the", "my", "cake", "tart", "in", "face", "and", "threw", "to", "has"]
    nodes = [TreeNode(0, None, "start", 0.0, 0.0, "kept", 0)]
    frontier, best_end = [(0, 0.0, True)], 0
    for step in range(1, steps + 1):
        candidates = []
        for parent, logprob, right in frontier:
            tokens = ([words[step - 1]] if right else []) + dice.sample(other, 3) + (["</s>"] if step > 5 else [])
            for rank, token in enumerate(tokens):
                gain = -0.05 - 0.02 * dice.random() if right and rank == 0 else -0.7 - 2.5 * dice.random()
                candidates.append((logprob + gain, parent, token, right and rank == 0))
        candidates.sort(key=lambda candidate: -candidate[0])
        frontier = []
        for rank, (logprob, parent, token, right) in enumerate(candidates[: beam + 4]):
            ended = token == "</s>"
            state = "cut" if rank >= beam else "finished" if ended else "kept"
            nodes.append(TreeNode(len(nodes), parent, token, logprob, logprob / max(1, step - ended), state, step))
            if state == "kept":
                frontier.append((nodes[-1].id, logprob, right))
            if ended and right:
                best_end = nodes[-1].id
    nodes[best_end] = TreeNode(**{**nodes[best_end].__dict__, "state": "best"})
    return SearchTree("il m' a entarté", nodes, beam, 1.0)


METRICS = {
    "bleu": 97.31415926,
    "chrf": 98.61,
    "ter": 1.72,
    "exact_match": 0.986,
    "aer": 0.0831,
    "perplexity": 1.0927,
    "signatures": {
        "bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1",
        "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.5.1",
        "ter": "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.5.1",
    },
    "set": "test",
    "sentences": 1000,
    "beam": 5,
    "alpha": 1.0,
    "parameters": 3_318_272,
    "tokens": 1_953_112,
    "seconds": 160.4,
    "steps": 1000,
    "model": "checkpoints/step-00001000",
    "languages": {"source": "fr", "target": "en"},
}

WORST = [
    SentenceResult(
        "elle ne les leur a pas donnés", "she did not give them to them", "she did not give him them", -0.412, 61.2
    ),
    SentenceResult("le chat qui dort", "the cat that sleeps", "", -2.5, 0.0),
    SentenceResult("vingt-deux vieux livres", "twenty-two old books", "twenty old books are here", -0.9, 70.5),
    SentenceResult("il pleut des cordes", "it is raining cats and dogs", "it is raining ropes", -0.77, 55.75),
]
BEST = [SentenceResult(source, target, target, -0.0123, 100.0) for source, target, _ in PAIRS[:4]]


@pytest.fixture
def hostile() -> str:
    """Text that would end a script element, run, be a placeholder, break a line in JavaScript, or not be UTF-8."""
    return HOSTILE


@pytest.fixture
def full_report() -> Report:
    return Report(
        title="The pocket translator",
        source_language="fr",
        target_language="en",
        created="14 May 2031, 10:02",
        version="0.1.0",
        reproduce="regard demo --out runs/demo",
        settings={
            "data": {"pocket": 40000, "src": None, "seed": 1},
            "text": {"kind": "bpe", "vocabulary": 1200, "joint": True, "dropout": 0.0},
            "model": {"layers": 3, "width": 192, "heads": 6, "positions": "sinusoidal"},
            "train": {"max_steps": 1000, "batch_tokens": 4096, "optimiser": "muon", "lr": 0.002, "minutes": None},
        },
        events=log_events(),
        metrics=METRICS,
        worst=WORST,
        best=BEST,
        alignments=[alignment_map(*pair) for pair in PAIRS],
        beam_tree=beam_tree(),
    )

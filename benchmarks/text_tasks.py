"""Summaries, replies, answers and labels: the runs behind docs/tasks/, cell by cell.

    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment pooling
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment answering
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment dialogue
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment summaries
    python benchmarks/text_tasks.py --out text-tasks --table

How cells are run, chosen and kept: `cells.py`. `--data` holds the folders classify, dialogue, scitldr and lm; answering generates its
passages.

| experiment | variants |
| --- | --- |
| pooling | an LSTM on TREC's coarse labels with the pooling final, mean, max and attention; three seeds |
| answering | questions about generated passages: a bag of words, an LSTM with attention, the same with a copy head |
| dialogue | replies to turns: a bigram model of replies, a Transformer that reads the turn; perplexity per word |
| summaries | SciTLDR: lead-1, the most central sentence, pointer-generator from scratch, and after denoising |
"""

import random
from pathlib import Path

from cells import Experiments, Place, Values, Variant, command, lines_of, parallel

from regard.data.passages import PARTS, passage_files
from regard.data.readers import read_pairs
from regard.data.summaries import abstracts, central, lead, oracle, reference
from regard.metrics.systems import score_systems

QUESTIONS, JUDGED = 60_000, 1_000
"""Generated questions to learn from, and of each part that judges."""
HELD_OUT = 500
"""Training questions of TREC that validate, drawn with seed 1."""


def pooling(place: Place) -> list[Variant]:
    parts = {}
    for part in ("train", "test"):
        rows = [line.partition(" ") for line in lines_of(place.data / "classify" / f"trec.{part}.txt")]
        parts[part] = [f"{text}\t{label.partition(':')[0]}" for label, _, text in rows]
    random.Random(1).shuffle(parts["train"])
    parts["valid"], parts["train"] = parts["train"][:HELD_OUT], parts["train"][HELD_OUT:]
    files = {part: place.write(f"trec.{part}.tsv", rows) for part, rows in parts.items()}
    data = {"labelled": files["train"], "valid_labelled": files["valid"]}
    text = {"kind": "word", "vocabulary": 10000, "lowercase": True}
    model = {"kind": "recurrent", "layers": 1, "width": 256, "embedding": 128, "dropout": 0.4}
    return [
        Variant(
            name,
            {
                "task": "classify",
                "data": data,
                "text": text,
                "model": {**model, "pooling": name},
                "train": place.train(800, batch_tokens=768, optimizer="adamw", label_smoothing=0.0),
            },
            (1e-3, 3e-3),
            {"data": files["test"]},
            "accuracy",
            (1, 2, 3),
        )
        for name in ("final", "mean", "max", "attention")
    ]


def answering(place: Place) -> list[Variant]:
    home = place.made / "passages"
    if not home.exists():
        home.mkdir()
        for part in PARTS:
            for name, lines in passage_files(part, QUESTIONS if part == "train" else JUDGED, 1).items():
                (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = {name: str(home / name) for name in ("train.src", "train.tgt", "valid.src", "valid.tgt")}
    data = dict(zip(("src", "tgt", "valid_src", "valid_tgt"), files.values(), strict=True))
    sizes = {"kind": "recurrent", "width": 128, "layers": 1, "dropout": 0.0, "score": "scaled_dot"}
    text = {"vocabulary": 1200, "joint": True}
    train = place.train(3000, batch_tokens=2400, label_smoothing=0.0, select="exact_match")
    networks: dict[str, Values] = {"plain": sizes, "copying": {**sizes, "copy": True}}
    labelled = {"labelled": str(home / "train.tsv"), "valid_labelled": str(home / "valid.tsv"), "max_length": 256}
    bag = {
        "task": "classify",
        "data": labelled,
        "text": {"kind": "word", "vocabulary": 20000},
        "model": {"kind": "bag", "ngrams": 2, "binary": True, "dropout": 0.2},
        "train": place.train(2000, batch_tokens=4096, label_smoothing=0.0),
    }
    test = parallel(home, "test", "src", "tgt") | {"gold_align": str(home / "test.align")}
    return [
        Variant("bag", bag, (0.01, 0.03), {"data": str(home / "test.tsv")}, "accuracy"),
        *(
            Variant(name, {"data": data, "text": text, "model": model, "train": train}, (3e-3,), test, "exact_match")
            for name, model in networks.items()
        ),
    ]


def dialogue(place: Place) -> list[Variant]:
    home = place.data / "dialogue"
    pairs = {part: str(home / f"{part}.tsv.gz") for part in ("train", "val", "test")}
    replies = {
        part: place.write(f"replies.{part}", (reply for _, reply in read_pairs(pairs=path)))
        for part, path in pairs.items()
    }
    turns = {
        part: place.write(f"turns.{part}", (turn for turn, _ in read_pairs(pairs=path))) for part, path in pairs.items()
    }
    counted = {
        "task": "generate",
        "data": {"text": replies["train"], "valid_text": replies["val"], "documents": "line"},
        "text": {"vocabulary": 8000, "lowercase": True},
        "model": {"kind": "markov", "order": 1},
    }
    read = {
        "data": {"pairs": pairs["train"], "valid_pairs": pairs["val"], "max_length": 64},
        "text": {"vocabulary": 8000, "joint": True, "lowercase": True},
        "model": {"preset": "tiny", "positions": "rotary", "dropout": 0.2},
        "train": place.train(4000, batch_tokens=2048, select="loss"),
    }
    test = {"src": turns["test"], "ref": replies["test"], "refs": [replies["test"]]}
    return [
        Variant("bigrams", counted, (None,), {"text": replies["test"]}, "perplexity_word"),
        Variant("transformer", read, (3e-3,), test, "perplexity"),
    ]


def summaries(place: Place) -> list[Variant]:
    home, files = place.data / "scitldr", {}
    for part in ("train", "dev", "test"):
        rows = list(abstracts(str(home / f"{part}.jsonl.gz")))
        files[f"{part}.src"] = place.write(f"scitldr.{part}.src", (row.text for row in rows))
        for number in range(1 if part == "train" else 4):
            lines = [reference(row, number) for row in rows]
            files[f"{part}.{number}"] = place.write(f"scitldr.{part}.{number}", lines)
        if part == "train":
            files["oracle"] = place.write("scitldr.oracle", map(oracle, rows))
        for name, chosen in (("lead", lead), ("central", central)):
            files[f"{part}.{name}"] = place.write(f"scitldr.{part}.{name}", map(chosen, rows))
    size = {"preset": "tiny", "positions": "rotary", "copy": True}
    data = {
        "corpora": [{"src": files["train.src"], "tgt": files[name]} for name in ("train.0", "oracle")],
        "valid_src": files["dev.src"],
        "valid_tgt": files["dev.0"],
        "max_length": 400,
    }
    tuned = {"data": data, "train": place.train(3000, batch_tokens=4096)}
    pretraining: Values = {
        "task": "pretrain",
        "data": {
            "text": [files["train.src"], str(place.data / "lm" / "wikitext2.train.raw.gz")],
            "valid_text": files["dev.src"],
            "max_length": 256,
        },
        "text": {"vocabulary": 8000},
        "objective": {"kind": "denoise"},
        "model": {"kind": "transformer", **size},
        "train": {**place.train(6000, batch_tokens=4096), "learning_rate": 5e-3},
    }
    judged = {
        part: {
            "src": files[f"{part}.src"],
            "ref": files[f"{part}.0"],
            "refs": [files[f"{part}.{number}"] for number in range(4)],
            "metric": ["rouge1", "rouge2", "rougeL"],
        }
        for part in ("dev", "test")
    }
    scratch = {**tuned, "text": {"vocabulary": 8000, "joint": True}, "model": {**size, "dropout": 0.3}}
    started = {**tuned, "model": {"dropout": 0.3}}
    rates = (1e-3, 3e-3)
    for part in ("dev", "test"):
        refs = [lines_of(Path(path)) for path in judged[part]["refs"]]
        for name in ("lead", "central"):
            own = lines_of(Path(files[f"{part}.{name}"]))
            [scores] = score_systems([own], refs, judged[part]["metric"], resamples=0)
            print(
                f"{part}, {name}: {', '.join(f'{key} {score.value:.1f}' for key, score in scores.items())}", flush=True
            )
    return [
        Variant("scratch", scratch, rates, judged["test"], "rouge1", valid=judged["dev"]),
        Variant(
            "denoised",
            started,
            rates,
            judged["test"],
            "rouge1",
            valid=judged["dev"],
            base=("scitldr-denoise", pretraining),
        ),
    ]


EXPERIMENTS: Experiments = {
    "pooling": pooling,
    "answering": answering,
    "dialogue": dialogue,
    "summaries": summaries,
}


def main() -> None:
    command(__doc__, EXPERIMENTS, "classify, dialogue, scitldr and lm")


if __name__ == "__main__":
    main()

"""Transfer: pretraining against scratch on few examples, LoRA against full fine-tuning, and how much is forgotten with and without replay.

    python benchmarks/transfer.py --out transfer --data path/to/data --experiment classify-trec
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment denoise
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment lora
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment forgetting
    python benchmarks/transfer.py --out transfer --table

How cells are run, chosen and kept: `cells.py`. `--data` holds the folders classify, multi30k and tatoeba-en-fr.

| experiment | base | variants |
| --- | --- | --- |
| classify-trec, classify-sst2 | masked tokens of Tatoeba's English side | 500 labelled texts: pretrained, scratch, bag of words |
| denoise | infilling, on the other 27,000 sentences of each side of Multi30k, shuffled apart | 2,000 pairs: pretrained, scratch |
| lora | a translator of Tatoeba, English to French | 2,000 pairs of Multi30k: full, lora |
| forgetting | the same | the same, with replay: three in ten pairs are Tatoeba's |
"""

import random
from functools import partial
from itertools import islice

from cells import Experiments, Place, Values, Variant, command, lines_of, parallel

from regard.data.readers import read_lines

SIZES = {"width": 256, "heads": 4, "layers": 3, "feed_forward": 1024}
LABELLED, PAIRS = 500, 2_000
OLD_TEST = 500  # sentences of the old test part on which forgetting is measured
SHARE = 0.3
RANK = 6  # 4.7 % of the weights of the default model
SEEDS = (1, 2, 3)


def labelled_texts(corpus: str, place: Place) -> dict[str, str]:
    """Files of labelled texts: 500 to learn from, some to validate on, and the test set."""
    home = place.data / "classify"
    if corpus == "sst2":
        parts = {part: lines_of(home / f"sst2.{part}.tsv") for part in ("train", "dev", "test")}
    else:
        parts = {}
        for part in ("train", "test"):
            rows = [line.partition(" ") for line in lines_of(home / f"trec.{part}.txt")]
            parts[part] = [f"{text}\t{label.partition(':')[0]}" for label, _, text in rows]
    random.Random(1).shuffle(parts["train"])
    parts.setdefault("dev", parts["train"][LABELLED : LABELLED + 1000])
    parts["train"] = parts["train"][:LABELLED]
    return {part: place.write(f"{corpus}.{part}.tsv", rows) for part, rows in parts.items()}


def classify(corpus: str, place: Place) -> list[Variant]:
    files, tatoeba = labelled_texts(corpus, place), place.data / "tatoeba-en-fr"
    data = {"labelled": files["train"], "valid_labelled": files["dev"], "tgt_lang": "en", "max_length": 128}
    test = {"data": files["test"]}
    train = place.train(300, batch_tokens=512, optimizer="adamw")
    pretraining: Values = {
        "task": "pretrain",
        "data": {
            "text": str(tatoeba / "train.en.gz"),
            "valid_text": str(tatoeba / "val.en.gz"),
            "documents": "line",
            "tgt_lang": "en",
            "max_length": 128,
        },
        "text": {"vocabulary": 8000, "lowercase": True},
        "objective": {"kind": "mask"},
        "model": SIZES,
        "train": place.train(1500, batch_tokens=4096),
    }
    scratch = {"task": "classify", "data": data, "train": train}
    bag = {"kind": "bag", "ngrams": 2, "weighting": "bayes", "binary": True, "dropout": 0.2}
    words = {"kind": "word", "vocabulary": 10000, "lowercase": True}
    rates = (3e-4, 1e-3, 3e-3)
    return [
        Variant(
            "pretrained",
            {**scratch, "model": {"dropout": 0.2}},
            rates,
            test,
            "accuracy",
            SEEDS,
            ("tatoeba-mask", pretraining),
        ),
        Variant(
            "scratch",
            {**scratch, "text": {"vocabulary": 2000, "lowercase": True}, "model": {**SIZES, "dropout": 0.2}},
            rates,
            test,
            "accuracy",
            SEEDS,
        ),
        Variant(
            "bag",
            {**scratch, "text": words, "model": bag, "train": place.train(200, batch_tokens=384, label_smoothing=0.0)},
            (0.005, 0.01, 0.02),
            test,
            "accuracy",
            SEEDS,
        ),
    ]


def denoise(place: Place) -> list[Variant]:
    home = place.data / "multi30k" / "tok"
    files: dict[str, str] = {}
    for seed, side in enumerate(("en", "de"), 1):
        lines = lines_of(home / f"train.{side}")
        files[side] = place.write(f"pairs.{side}", lines[:PAIRS])
        others = lines[PAIRS:]
        random.Random(seed).shuffle(others)  # each side in an order of its own: no pair is seen
        files[f"alone.{side}"] = place.write(f"alone.{side}", others)
    data = {
        "src": files["en"],
        "tgt": files["de"],
        "valid_src": str(home / "val.en"),
        "valid_tgt": str(home / "val.de"),
        "max_length": 128,
    }
    test = parallel(home, "test2016", "en", "de")
    train = place.train(400, batch_tokens=2048)
    model = {**SIZES, "positions": "rotary"}
    pretraining: Values = {
        "task": "pretrain",
        "data": {"text": [files["alone.en"], files["alone.de"]], "max_length": 128},
        "text": {"vocabulary": 8000},
        "objective": {"kind": "denoise"},
        "model": model,
        "train": place.train(2500, batch_tokens=2048),
    }
    rates = (2e-3, 5e-3)
    tuned = {"task": "translate", "data": data, "train": train}
    own = {**tuned, "text": {"vocabulary": 4000}, "model": {**model, "dropout": 0.3}}
    return [
        Variant(
            "pretrained",
            {**tuned, "model": {"dropout": 0.3}},
            rates,
            test,
            "bleu",
            SEEDS,
            ("multi30k-denoise", pretraining),
        ),
        Variant("scratch", own, rates, test, "bleu", SEEDS),
    ]


def captions_after_tatoeba(place: Place) -> tuple[Values, Values, tuple[str, Values], Values]:
    """(settings of fine-tuning, test set, base, replay)."""
    home, tatoeba = place.data / "multi30k" / "raw", place.data / "tatoeba-en-fr"
    few = {side: place.write(f"captions.{side}", lines_of(home / f"train.{side}")[:PAIRS]) for side in ("en", "fr")}
    old = {side: str(tatoeba / f"train.{side}.gz") for side in ("en", "fr")}
    base: Values = {
        "data": {
            "src": old["en"],
            "tgt": old["fr"],
            "valid_src": str(tatoeba / "val.en.gz"),
            "valid_tgt": str(tatoeba / "val.fr.gz"),
        },
        "train": place.train(1500, batch_tokens=2048),
    }
    old_test = {
        f"test_{side}": place.write(
            f"tatoeba.test.{language}", islice(read_lines(tatoeba / f"test.{language}.gz"), OLD_TEST)
        )
        for side, language in (("src", "en"), ("tgt", "fr"))
    }
    data = {
        "src": few["en"],
        "tgt": few["fr"],
        "valid_src": str(home / "val.en"),
        "valid_tgt": str(home / "val.fr"),
        "replay": old_test,
    }
    tuned = {"data": data, "train": place.train(200, batch_tokens=2048)}
    replay = {**old_test, "src": old["en"], "tgt": old["fr"]}
    return tuned, parallel(home, "test2016", "en", "fr"), ("tatoeba", base), replay


FULL, LOW = (1e-3, 3e-3), (3e-3, 1e-2)


def lora(place: Place) -> list[Variant]:
    tuned, test, base, _ = captions_after_tatoeba(place)
    low = {**tuned, "train": {**tuned["train"], "lora": {"rank": RANK}}}
    return [
        Variant("full", tuned, FULL, test, "bleu", SEEDS, base),
        Variant("lora", low, LOW, test, "bleu", SEEDS, base),
    ]


def forgetting(place: Place) -> list[Variant]:
    tuned, test, base, replay = captions_after_tatoeba(place)
    data = {**tuned["data"], "replay": {**replay, "share": SHARE}}
    full: Values = {**tuned, "data": data}
    low = {**full, "train": {**tuned["train"], "lora": {"rank": RANK}}}
    return [
        Variant("full, replay", full, FULL, test, "bleu", SEEDS, base),
        Variant("lora, replay", low, LOW, test, "bleu", SEEDS, base),
    ]


EXPERIMENTS: Experiments = {
    "classify-trec": partial(classify, "trec"),
    "classify-sst2": partial(classify, "sst2"),
    "denoise": denoise,
    "lora": lora,
    "forgetting": forgetting,
}


def main() -> None:
    command(__doc__, EXPERIMENTS, "classify, multi30k and tatoeba-en-fr")


if __name__ == "__main__":
    main()

"""Config files and `--set` values that are deep, long, doubled, of wrong types, or full of control characters."""

import json
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command

KEYS = (
    *("seed", "task", "data.src", "data.tgt", "data.pocket", "data.src_lang", "text.vocabulary", "text.kind"),
    *(
        "model.kind",
        "model.preset",
        "model.layers",
        "model.width",
        "model.heads",
        "model.dropout",
        "model.max_positions",
    ),
    *(
        "train.max_steps",
        "train.minutes",
        "train.batch_tokens",
        "train.learning_rate",
        "train.optimizer",
        "train.start",
        "train.freeze",
        "train.layer_decay",
        "text.grow",
    ),
    *(
        "train.select",
        "train.save_every",
        "train.device",
        "train.seed",
        "data.corpora",
        "data.both",
        "data",
        "model",
        "nothing.such",
    ),
)
SIZES = (
    *("model.layers", "model.width", "model.heads", "model.feed_forward", "model.max_positions", "model.dropout"),
    *("text.vocabulary", "train.batch_tokens", "train.learning_rate", "train.warmup", "train.accumulate", "train.clip"),
    *("train.validate_every", "train.save_every", "train.keep", "train.average", "train.ema", "train.workers"),
    *("train.seed", "train.patience", "data.pocket", "data.max_length", "data.seed", "train.label_smoothing"),
    *("train.layer_decay", "text.grow", "data.temperature"),
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "3",
    "0.5",
    "1e9",
    "1000000000",
    "100000",
    "1e-300",
    "1e308",
    "nan",
    "inf",
    "9223372036854775807",
)
SHORT = ("--minutes", "0.05")  # whatever the number of steps
RUN = (
    *SHORT,
    "--set",
    "train.max_steps=1",
    "--set",
    "model.layers=1",
    "--set",
    "model.width=16",
    "--set",
    "model.heads=2",
)
SOUND = """
[data]
src = "a.fr"
tgt = "a.en"
[text]
vocabulary = 60
[model]
layers = 1
width = 16
heads = 2
feed_forward = 16
[train]
max_steps = 1
batch_tokens = 200
"""


def config(rng: Random, directory: Path) -> Command:
    """A TOML file, to train from."""
    path = directory / "run.toml"
    draw.write_text(path, toml_text(rng))
    if rng.random() < 0.15:
        draw.replace_file(rng, path)
        if path.is_file() and not path.stat().st_size:
            path.write_text("[", encoding="utf-8")  # an empty config is sound: it trains for long
    verb = rng.choice(["train", "train", "sweep"])
    more = ("--dry-run",) if verb == "sweep" else ()
    return Command((verb, "run.toml", "--out", "out", *SHORT, *more))


def toml_text(rng: Random) -> str:
    """A sound config that was attacked."""
    attack = rng.choice(
        [
            "value",
            "value",
            "size",
            "size",
            "size",
            "deep",
            "dots",
            "digits",
            "twice",
            "bytes",
            "long",
            "table",
            "unclosed",
        ]
    )
    if attack == "value":
        return with_value(rng.choice(KEYS), toml_value(rng))
    if attack == "size":
        return with_value(rng.choice(SIZES), rng.choice(NUMBERS))
    if attack == "deep":
        brackets = rng.choice([70, 2_000, 100_000])
        return f"{SOUND}\n[x]\ndeep = {'[' * brackets}{']' * brackets}\n"
    if attack == "dots":
        return f"{'.'.join(['a'] * rng.choice([70, 5_000]))} = 1\n"
    if attack == "digits":
        return SOUND.replace("layers = 1", f"layers = {'9' * rng.choice([30, 5_000, 100_000])}")
    if attack == "twice":
        return SOUND.replace("layers = 1", "layers = 1\nlayers = 2")
    if attack == "bytes":
        return SOUND + rng.choice(["\x00", "\x1b", "\udcff", "\x9b", "\r"])
    if attack == "long":
        return f'{SOUND}\n["{"k" * rng.choice([1_000, 1_000_000])}"]\nx = 1\n'
    if attack == "table":
        return f"{SOUND}\n[{json.dumps(draw.text(rng))}]\n{json.dumps(draw.text(rng))} = 1\n"
    return SOUND + rng.choice(['x = """', "x = '", "x = [", "[", "x =", "= 1"])


def with_value(key: str, value: str) -> str:
    """The sound config with this value in place of its own."""
    table, _, name = key.rpartition(".")
    lines = [line for line in SOUND.splitlines() if line.partition(" =")[0] != name]
    if not table:
        return "\n".join([f"{name} = {value}", *lines])
    heading = f"[{table}]"
    if heading not in lines:
        lines.append(heading)
    lines.insert(lines.index(heading) + 1, f"{name} = {value}")
    return "\n".join(lines)


def toml_value(rng: Random) -> str:
    """A value of another type or size than a setting has."""
    drawn = draw.value(rng)
    if isinstance(drawn, bool):
        return str(drawn).lower()
    if isinstance(drawn, int | float):
        return repr(drawn)
    if drawn is None:
        return rng.choice(["1979-05-27", "[]", "{}", "0x7fffffffffffffff"])
    if isinstance(drawn, dict):
        return "{ a = 1, b = [1, 'x'] }"
    return json.dumps(drawn)


def setting(rng: Random, directory: Path) -> Command:
    """A `--set KEY=VALUE`, to train or to sweep by."""
    key = rng.choice([*KEYS, draw.text(rng).replace("\x00", "")[:300]])
    value = rng.choice(
        [
            toml_value(rng),
            "[" * rng.choice([70, 3_000, 100_000]),
            "9" * rng.choice([400, 5_000, 100_000]),
            draw.text(rng),
            '"' + draw.text(rng),
            "",
        ]
    )
    assignment = f"{key}={value}".replace("\x00", "")[:120_000]  # the system allows no more in one argument
    verb = rng.choice(["train", "train", "sweep", "demo"])
    if verb == "demo":
        short = ("--set", "train.minutes=0.05", *RUN[len(SHORT) :])
        return Command(("demo", "--out", "out", "--set", "data.pocket=40", *short, "--set", assignment))
    more = ("--dry-run",) if verb == "sweep" else ()
    return Command((verb, "--src", "a.fr", "--tgt", "a.en", "--out", "out", *RUN, "--set", assignment, *more))

"""Peak memory of `regard` with texts of thousands of tokens, by mixer: training, classifying and generating, as a user runs them.

    python benchmarks/long_texts.py --out long-texts --lengths 8192 32768 --mixers hyena delta
    python benchmarks/long_texts.py --out long-texts --table

Each cell is one mixer at one length. Texts of that many words are generated (`regard.data.recall`). A classifier trains two steps of one
text each and validates, and `regard classify` labels one text. A language model with a context of the same length trains two steps, and
`regard generate` continues a prompt of nearly a context by 16 tokens. Two blocks of width 128, 4 heads, feed-forward 256, one core.
Numbers are the most resident memory of each command, Python and torch included (about 400 MB). A cell is one JSON file in `--out`, written
after each command; what is there is not measured again.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from regard.data.recall import far_lines, far_question
from regard.models.config import MIXER_TRAITS

COMMANDS = ("train, classify", "classify", "train, generate", "generate")
TEXTS, STEPS = 8, 2
PROMPT_LEFT = 64  # tokens of the context that a prompt leaves free
MODEL = {"layers": 2, "width": 128, "heads": 4, "feed_forward": 256, "window": 129}


def run(arguments: list[str], standard_input: Path | None = None) -> tuple[float, float]:
    """(megabytes at most, seconds) of one command on one core."""
    begin = time.perf_counter()
    with (standard_input or Path(os.devnull)).open("rb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "regard.cli.entry", *arguments],
            stdin=stream,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        )
        assert process.stderr is not None
        errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"regard {' '.join(arguments)}\n{errors}")
    if "warning" in errors:
        print(errors)
    return usage.ru_maxrss / 1024, time.perf_counter() - begin


def settings(values: dict[str, Any]) -> list[str]:
    return [part for key, value in values.items() for part in ("--set", f"{key}={json.dumps(value)}")]


def cell(mixer: str, length: int, home: Path, path: Path) -> dict[str, Any]:
    """All commands of one mixer and length that `path` lacks. It is written after each."""
    home.mkdir(parents=True, exist_ok=True)
    labelled, text, one, prompt = (home / name for name in ("texts.tsv", "text.txt", "one.txt", "prompt.txt"))
    labelled.write_text("".join(f"{line}\n" for line in far_lines([length], TEXTS * length, 1)), encoding="utf-8")
    one.write_text(f"{far_question(length, 2, 0)[0]}\n", encoding="utf-8")
    lines = [far_question(64, 3, index)[0] for index in range(3 * length // 64)]
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    prompt.write_text("\n".join(lines)[: length - PROMPT_LEFT], encoding="utf-8")
    common = {f"model.{key}": value for key, value in MODEL.items()}
    common |= {"model.mixer": mixer, "model.max_positions": length + 2, "data.max_length": length, "train.samples": 0}
    words = common | {"text.kind": "word", "text.vocabulary": 100, "train.max_steps": STEPS}
    characters = common | {"text.kind": "char", "train.max_steps": STEPS, "train.batch_tokens": length}
    classifier, writer = str(home / "classifier"), str(home / "writer")
    classify = ["train", "--task", "classify", "--data", str(labelled), "--out", classifier, *settings(words)]
    generate = ["train", "--task", "generate", "--text", str(text), "--out", writer, *settings(characters)]
    commands: dict[str, tuple[list[str], Path | None]] = {
        "train, classify": (classify, None),
        "classify": (["classify", classifier, "-i", str(one)], None),
    }
    if MIXER_TRAITS[mixer].causal:
        commands |= {
            "train, generate": (generate, None),
            "generate": (["generate", writer, "-", "--max-length", "16"], prompt),
        }
    result = json.loads(path.read_text("utf-8")) if path.exists() else {}
    result = {"mixer": mixer, "length": length, "commands": {}, **result}
    for name, (arguments, standard_input) in commands.items():
        if name not in result["commands"]:
            if "--out" in arguments:
                shutil.rmtree(arguments[arguments.index("--out") + 1], ignore_errors=True)  # a run that was cut off
            result["commands"][name] = run(arguments, standard_input)
            path.write_text(json.dumps(result), encoding="utf-8")
            print(f"{mixer} {length:,} {name}: {result['commands'][name][0]:,.0f} MB", flush=True)
    return dict(result)


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: a row a mixer and length."""
    lines = ["| mixer | tokens | " + " | ".join(COMMANDS) + " |", "| --- " * (2 + len(COMMANDS)) + "|"]
    for one in sorted(cells, key=lambda one: (list(MIXER_TRAITS).index(one["mixer"]), one["length"])):
        row = [f"{one['commands'][name][0]:,.0f}" if name in one["commands"] else "" for name in COMMANDS]
        lines.append(f"| {one['mixer']} | {one['length']:,} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory with one JSON file a cell")
    parser.add_argument("--mixers", nargs="+", choices=MIXER_TRAITS, default=list(MIXER_TRAITS))
    parser.add_argument("--lengths", nargs="+", type=int, default=[8192, 32768])
    parser.add_argument("--table", action="store_true", help="measure nothing; print the cells of --out")
    arguments = parser.parse_args()
    if arguments.table:
        print(table([json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))]))
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for length in arguments.lengths:
        for mixer in arguments.mixers:
            cell(mixer, length, arguments.out / "work" / f"{mixer}-{length}", arguments.out / f"{mixer}-{length}.json")


if __name__ == "__main__":
    main()

"""Training speed on pictures: regard beside a plain training loop of timm's `VisionTransformer`, on the same batches in alternating rounds.

    python benchmarks/vision.py                                              # 3 blocks, width 96, 28 x 28 grey, batches of 128
    python benchmarks/vision.py --layers 12 --width 192 --side 32 --channels 3 --batch 64 --batches 2     # ViT-Tiny on 32 x 32 colour

Each implementation lives in a process of its own (regard in one a core) and waits while another works. All do the same work: patches of
4 x 4, class token, learned positions, GELU, no dropout, label smoothing, clipping, AdamW, float32. timm's loop gets its batches as ready
tensors; regard makes them from the mapped bytes in each step. `regard, Muon` has regard's default optimiser. Pictures are random: the time
of a step does not depend on them. Needs timm (the extra `dev`).
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

SMOOTHING, CLIP, RATE, SEED, LABELS = 0.1, 1.0, 1e-3, 1, 10
ROWS = ("regard", "regard, Muon", "timm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"layers": 3, "width": 96, "heads": 3, "side": 28, "channels": 1, "patch": 4}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--feed-forward", type=int, help="inner width; twice the width if not given")
    parser.add_argument("--batch", type=int, default=128, help="pictures")
    parser.add_argument("--batches", type=int, default=4, help="in a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS)
    options = vars(parser.parse_args())
    options["feed_forward"] = options["feed_forward"] or 2 * options["width"]
    with tempfile.TemporaryDirectory() as home:
        runners = {name: Runner(name, options | {"home": home}) for name in options["only"]}
        seconds: dict[str, list[float]] = {name: [] for name in runners}
        for _ in range(options["rounds"]):
            for name, runner in runners.items():
                seconds[name].append(runner.ask("round"))
        print(heading(options, runners["timm" if "timm" in runners else options["only"][0]].ask("about")))
        print("| | pictures/s | regard is faster by |\n| --- | --- | --- |")
        leader = options["only"][0]
        for name in runners:
            speed = options["batch"] * options["batches"] / statistics.median(seconds[name])
            ratios = [theirs / ours for theirs, ours in zip(seconds[name], seconds[leader], strict=True)]
            spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"| {name} | {speed:,.0f} | {spread} |")
        for runner in runners.values():
            runner.dismiss()


def heading(options: dict[str, Any], about: str) -> str:
    names = ("layers", "width", "heads", "feed_forward", "side", "channels", "patch", "batch")
    return (
        f"{about}, {os.cpu_count()} cores; "
        + ", ".join(f"{name} {options[name]}" for name in names)
        + (f"; {options['rounds']} rounds of {options['batches']} batches\n")
    )


class Runner:
    """An implementation in a process of its own."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, its_pipe = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, options, its_pipe))
        self._process.start()
        self.ask("round")  # warms up

    def ask(self, what: str) -> Any:
        self._pipe.send(what)
        return self._pipe.recv()

    def dismiss(self) -> None:
        self.ask("end")
        self._process.join()


def _serve(name: str, options: dict[str, Any], pipe: Connection) -> None:
    import torch

    from regard.training.precision import processor

    step, end = (_timm if name == "timm" else _regard)(name, options)
    about = f"torch {torch.__version__}, {processor(torch.device('cpu'))}"
    for question in iter(pipe.recv, "end"):
        began = time.perf_counter()
        if question == "round":
            for place in range(options["batches"]):
                step(place)
        pipe.send(time.perf_counter() - began if question == "round" else about)
    end()
    pipe.send(None)


Implementation = tuple[Callable[[int], object], Callable[[], None]]


def _pictures(options: dict[str, Any]) -> tuple[Any, Any]:
    """(bytes [N, H, W, C], labels [N]) of all batches, and one picture for validation of each label."""
    import numpy as np

    generator, count = np.random.default_rng(SEED), options["batch"] * options["batches"] + LABELS
    pixels = generator.integers(0, 256, (count, options["side"], options["side"], options["channels"]), dtype=np.uint8)
    return pixels, np.arange(count) % LABELS


def _regard(name: str, options: dict[str, Any]) -> Implementation:
    """regard's own step, as its loop makes it."""
    import numpy as np
    import torch

    from regard.data.images import prepare_images
    from regard.tasks.classify_images.objective import ClassifyImagesObjective
    from regard.tasks.classify_images.settings import ClassifyImagesSettings
    from regard.training.loop import advance
    from regard.training.malloc import keep_large_blocks
    from regard.training.resume import resumed_job

    keep_large_blocks()
    home, (pixels, labels) = Path(options["home"]), _pictures(options)
    file = home / f"{name}.npz"
    np.savez(file, images=pixels, labels=labels)
    sizes = {key: options[key] for key in ("layers", "width", "heads", "feed_forward", "patch")}
    model = {**sizes, "kind": "vit", "tokenizer": "patches", "pooling": "class", "dropout": 0.0, "norm_epsilon": 1e-6}
    optimizer = "muon" if "Muon" in name else "adamw"
    train = {"learning_rate": RATE, "schedule": "constant", "clip": CLIP, "label_smoothing": SMOOTHING}
    train |= {"max_steps": 10**6, "optimizer": optimizer, "precision": "float32", "weight_decay": 0.01}
    config = ClassifyImagesSettings.model_validate(
        {
            "data": {"images": str(file), "valid_images": str(file)},
            "augment": {"shift": 0},
            "model": model,
            "train": train,
        }
    )
    prepared = prepare_images(config.data, home / "cache")
    job, _ = resumed_job(config, home / name, ClassifyImagesObjective(config, prepared), torch.device("cpu"))
    team = job.team()
    every = np.arange(options["batch"] * options["batches"])
    chosen = every.reshape(options["batches"], options["batch"])
    return lambda place: list(advance(job, team, [chosen[place]], 10**6, time.perf_counter())), team.__exit__


def _timm(name: str, options: dict[str, Any]) -> Implementation:
    """A training loop as timm's users write it, in torch's own threads."""
    import torch
    import torch.nn.functional as F

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from timm_models import vision_transformer

    torch.manual_seed(SEED)
    network = vision_transformer(
        img_size=options["side"],
        patch_size=options["patch"],
        in_chans=options["channels"],
        num_classes=LABELS,
        embed_dim=options["width"],
        depth=options["layers"],
        num_heads=options["heads"],
        mlp_ratio=options["feed_forward"] / options["width"],
    ).train()
    pixels, labels = _pictures(options)
    source = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy()).float().sub_(127.5).div_(73.9)
    targets, size = torch.from_numpy(labels), options["batch"]
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)

    def step(place: int) -> None:
        part = slice(place * size, (place + 1) * size)
        optimizer.zero_grad()
        loss = F.cross_entropy(network(source[part]), targets[part], label_smoothing=SMOOTHING)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()

    return step, lambda: None


if __name__ == "__main__":
    main()

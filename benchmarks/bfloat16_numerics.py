"""The numerics of training in bfloat16, on a processor without it: the same runs in float32 and in bfloat16, by validation loss and BLEU.

    python benchmarks/bfloat16_numerics.py                     # three seeds, 400 steps of the pocket corpus each
    python benchmarks/bfloat16_numerics.py --src a.en --tgt a.de --valid-src b.en --valid-tgt b.de --batch-tokens 2048 --native

Without `--native`, products of bfloat16 matrices are computed in float32 and rounded: what a processor with such products computes, up to
the order of sums, and a hundred times as fast as emulation. It says nothing about speed.
"""

import argparse
import statistics
import tempfile
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from regard.tasks.fine_tuning import run_settings
from regard.tasks.run import train_run
from regard.training.mixed import ComputedNetwork

aten = torch.ops.aten
PRODUCTS = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.baddbmm.default,
    aten._scaled_dot_product_flash_attention_for_cpu.default,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
}


class RoundedProducts(TorchDispatchMode):
    """Computes products of bfloat16 matrices in float32 and rounds the results."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if function not in PRODUCTS or not any(isinstance(x, Tensor) and x.dtype == torch.bfloat16 for x in args):
            return function(*args, **given)
        wide, more = tree_map_only(Tensor, _widened, (args, given))
        results = function(*wide, **more)
        several = isinstance(results, tuple)
        attention = several and "backward" not in str(function)
        rounded = [
            # the log-sum-exp of attention is in float32 anyway
            x.to(torch.bfloat16) if isinstance(x, Tensor) and not (attention and place == 1) else x
            for place, x in enumerate(results if several else (results,))
        ]
        return tuple(rounded) if several else rounded[0]


def _widened(x: Tensor) -> Tensor:
    return x.float() if x.dtype == torch.bfloat16 else x


class Emulated:
    """Makes every network in bfloat16 multiply by `RoundedProducts`."""

    def __enter__(self) -> None:
        self._casting, self._gradients = ComputedNetwork.casting, ComputedNetwork.gradients

        def casting(network: ComputedNetwork) -> AbstractContextManager[object]:
            return RoundedProducts() if network._copied else nullcontext()

        def gradients(network: ComputedNetwork, loss: Tensor) -> list[Tensor]:
            with RoundedProducts() if network._copied else nullcontext():
                return self._gradients(network, loss)

        ComputedNetwork.casting, ComputedNetwork.gradients = casting, gradients  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        ComputedNetwork.casting, ComputedNetwork.gradients = self._casting, self._gradients  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--native", action="store_true", help="let the processor multiply in bfloat16")
    for flag in ("--src", "--tgt", "--valid-src", "--valid-tgt"):
        parser.add_argument(flag)
    given = parser.parse_args()
    files = {name: value for name in ("src", "tgt", "valid_src", "valid_tgt") if (value := getattr(given, name))}
    rows: dict[str, list[tuple[float, float]]] = {"float32": [], "bfloat16": []}
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        if not given.native:
            stack.enter_context(Emulated())
        for seed in given.seeds:
            for precision, results in rows.items():
                results.append(_trained(given, files, seed, precision, Path(home) / f"{precision}-{seed}"))
                loss, bleu = results[-1]
                print(f"seed {seed}, {precision}: validation loss {loss:.4f}, BLEU {bleu:.1f}", flush=True)
    print("\n| precision | mean validation loss | mean BLEU |\n| --- | --- | --- |")
    for precision, results in rows.items():
        losses, scores = zip(*results, strict=True)
        print(f"| {precision} | {statistics.mean(losses):.4f} | {statistics.mean(scores):.1f} |")
    differences = [low[0] - wide[0] for wide, low in zip(*rows.values(), strict=True)]
    print(f"\nbfloat16 minus float32, by seed: {', '.join(f'{difference:+.4f}' for difference in differences)} nats")


def _trained(
    given: argparse.Namespace, files: dict[str, str], seed: int, precision: str, out: Path
) -> tuple[float, float]:
    """Validation loss and greedy BLEU at the end of a run."""
    validated: list[Any] = []
    config = run_settings(
        {
            "data": files or {"pocket": 40_000},
            "text": {"vocabulary": 8000 if files else 1000},
            "model": {"preset": "tiny", "layers": given.layers, "dropout": 0.1},
            "train": {
                "seed": seed,
                "precision": precision,
                "max_steps": given.steps,
                "batch_tokens": given.batch_tokens,
                "validate_every": given.steps,
                "save_every": given.steps,
                "warmup": given.steps // 10,
            },
        }
    )
    train_run(config, out, [lambda event: validated.append(event) if event.name == "validated" else None])
    return validated[-1].loss, validated[-1].scores["bleu"]


if __name__ == "__main__":
    main()

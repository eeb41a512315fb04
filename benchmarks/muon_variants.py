"""Variants of Muon's orthogonalisation: validation loss and BLEU after the same steps, and the optimiser's share of the time.

    python benchmarks/muon_variants.py --seeds 1 2

All runs are of the pocket corpus (2 + 2 layers, width 128, 1,000 subwords) and differ in the function that makes the update alone.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.tasks.fine_tuning import run_settings
from regard.tasks.run import train_run
from regard.training import muon
from regard.training.optimizer import Optimizer

Coefficients = tuple[tuple[float, float, float], ...]

POLAR_EXPRESS: Coefficients = (  # Amsel et al. 2025, five iterations, with their safety factor of 1.01
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)
TURBO: Coefficients = (  # Boissin et al. 2025: the last four of a series of five, after a preconditioner
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)


def polar_express(matrices: Tensor, coefficients: Coefficients = POLAR_EXPRESS) -> Tensor:
    """Polar Express: other coefficients in each iteration, best for singular values down to 1e-3."""
    x = _wide(matrices)
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) * 1.01 + 1e-7)
    safe = [(a / 1.01, b / 1.01**3, c / 1.01**5) for a, b, c in coefficients[:-1]]
    return _like(_iterated(x, (*safe, coefficients[-1])), matrices)


def turbo(matrices: Tensor) -> Tensor:
    """Turbo-Muon: rows scaled so that no singular value is above one (almost-orthogonal layers), then four iterations."""
    x = _wide(matrices)
    gram = x @ x.transpose(1, 2)
    x = x / (gram.abs().sum(dim=2, keepdim=True) + 1e-14).sqrt()
    return _like(_iterated(x, TURBO), matrices)


def four(matrices: Tensor) -> Tensor:
    """Four of the usual iterations."""
    x = _wide(matrices)
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    return _like(_iterated(x, (muon.COEFFICIENTS,) * 4), matrices)


def low(matrices: Tensor) -> Tensor:
    """The usual iterations in bfloat16, as Jordan et al. compute them."""
    return PLAIN(matrices.to(torch.bfloat16)).to(matrices.dtype)


class NorMuon:
    """NorMuon (Li et al. 2025): rows of the update are divided by the mean of their past squares; its norm stays."""

    def __init__(self) -> None:
        self._squares: dict[torch.Size, Tensor] = {}

    def __call__(self, matrices: Tensor) -> Tensor:
        update = PLAIN(matrices)
        rows = update.square().mean(dim=2, keepdim=True)
        squares = self._squares.setdefault(matrices.shape, torch.zeros_like(rows)).lerp_(rows, 0.05)
        scaled = update / (squares.sqrt() + 1e-8)
        norms = [torch.linalg.matrix_norm(x, keepdim=True) for x in (update, scaled)]
        result: Tensor = scaled * (norms[0] / norms[1])
        return result


def _iterated(x: Tensor, coefficients: Coefficients) -> Tensor:
    for a, b, c in coefficients:
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def _wide(matrices: Tensor) -> Tensor:
    return matrices.transpose(1, 2) if matrices.shape[1] > matrices.shape[2] else matrices


def _like(x: Tensor, matrices: Tensor) -> Tensor:
    return x if x.shape == matrices.shape else x.transpose(1, 2)


PLAIN = muon.orthogonalised
VARIANTS: dict[str, Callable[[], Callable[[Tensor], Tensor]]] = {
    "plain, 5 iterations": lambda: PLAIN,
    "plain, 4 iterations": lambda: four,
    "plain, 5 iterations, bfloat16": lambda: low,
    "Polar Express, 5": lambda: polar_express,
    "Turbo-Muon, 4": lambda: turbo,
    "NorMuon": NorMuon,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    given = parser.parse_args()
    torch.set_num_threads(1)  # one worker: the optimiser's time is measured in this process
    print("| variant | validation loss, by seed | mean | mean BLEU | optimiser's share of the time |\n|" + " --- |" * 5)
    with tempfile.TemporaryDirectory() as home:
        for name in given.only:
            results = [_trained(name, seed, given.steps, Path(home)) for seed in given.seeds]
            losses, scores, shares = zip(*results, strict=True)
            by_seed = ", ".join(f"{loss:.4f}" for loss in losses)
            mean, bleu, share = (statistics.mean(values) for values in (losses, scores, shares))
            print(f"| {name} | {by_seed} | {mean:.4f} | {bleu:.1f} | {share:.1%} |", flush=True)


def _trained(name: str, seed: int, steps: int, home: Path) -> tuple[float, float, float]:
    """Validation loss, greedy BLEU, and the share of the optimiser in the time of the steps."""
    muon.orthogonalised = VARIANTS[name]()
    spent, step, events = 0.0, Optimizer.step, []

    def timed(optimizer: Optimizer, learning_rate: float, share: int = 0) -> None:
        nonlocal spent
        began = time.perf_counter()
        step(optimizer, learning_rate, share)
        spent += time.perf_counter() - began

    Optimizer.step = timed  # type: ignore[method-assign]
    train: dict[str, Any] = {"max_steps": steps, "validate_every": steps, "save_every": steps, "warmup": steps // 10}
    settings = {
        "data": {"pocket": 40_000},
        "text": {"vocabulary": 1000},
        "model": {"preset": "tiny", "layers": 2, "dropout": 0.1},
        "train": {"seed": seed, **train},
    }
    train_run(run_settings(settings), home / f"{name}-{seed}", [events.append])
    Optimizer.step = step  # type: ignore[method-assign]
    last = next(event for event in reversed(events) if event.name == "validated")
    return last.loss, last.scores["bleu"], spent / last.seconds


if __name__ == "__main__":
    main()

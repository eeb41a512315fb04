"""Variants of Muon's orthogonalisation: their time, how near to an orthogonal matrix they come, and what they do to learning.

    python benchmarks/muon_variants.py --kernels                                     # time and singular values, on one core
    python benchmarks/muon_variants.py --seeds 1 2                                   # learning: the pocket corpus
    python benchmarks/muon_variants.py --text DIR --steps 500 --seeds 1 2            # learning: the quick recipe of Multi30k

The runs of a table differ only in the function that makes the update. The optimiser's time is that of the first worker. `--text` is the
folder tok of Multi30k (multi30k_files.py tells its source). Losses and BLEU are of the validation set.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from multi30k_files import file_of
from torch import Tensor

from regard.tasks.fine_tuning import run_settings
from regard.tasks.run import train_run
from regard.tasks.settings import read_settings
from regard.training import muon
from regard.training.optimizer import Optimizer

Coefficients = tuple[tuple[float, float, float], ...]
Orthogonalise = Callable[[Tensor], Tensor]
"""[n, rows, columns] -> nearly orthogonal matrices."""

JORDAN: Coefficients = ((3.4445, -4.7750, 2.0315),) * 5  # Jordan et al. 2024
POLAR_EXPRESS: Coefficients = tuple(  # Amsel et al. 2025, five iterations, with their safety factor of 1.01
    (a / 1.01, b / 1.01**3, c / 1.01**5)
    for a, b, c in (
        (8.28721201814563, -23.595886519098837, 17.300387312530933),
        (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
        (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
        (3.3184196573706015, -2.488488024314874, 0.51004894012372),
        (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    )
)
TURBO: Coefficients = (  # Boissin et al. 2025: the last four of a series of five, after a preconditioner
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)
SHAPES = ((24, 128, 128), (8, 256, 128), (4, 512, 512), (2, 2048, 512))
"""Matrices of a core: all of half a tiny network, and a few of one of width 512."""


def frobenius(x: Tensor, coefficients: Coefficients) -> Tensor:
    """Divided by the Frobenius norm, then iterated. With `JORDAN` it is Muon as published."""
    return _iterated(x / _norm(x), coefficients)


def almost_orthogonal(x: Tensor) -> Tensor:
    """Turbo-Muon: rows scaled so that no singular value is above one (almost-orthogonal layers), then four iterations."""
    gram = x @ x.transpose(1, 2)
    return _iterated(x / (gram.abs().sum(dim=2, keepdim=True) + 1e-14).sqrt(), TURBO)


def schatten(x: Tensor, coefficients: Coefficients) -> Tensor:
    """Divided by the Schatten-8 norm (sum of s^8)^(1/8), which is nearer to the largest singular value s, then iterated.

    G = X X^T and G^2 of the first iteration tell it: it is the fourth root of the Frobenius norm of G^2.
    """
    x = x / _norm(x)
    gram = x @ x.transpose(1, 2)
    return _iterated(x / _norm(gram @ gram) ** 0.25, coefficients)


def low(x: Tensor) -> Tensor:
    """The usual iterations in bfloat16, as Jordan et al. compute them."""
    return frobenius(x.to(torch.bfloat16), JORDAN).to(x.dtype)


class NorMuon:
    """NorMuon (Li et al. 2025): rows of the update are divided by the mean of their past squares; its norm stays."""

    def __init__(self) -> None:
        self._squares: dict[torch.Size, Tensor] = {}

    def __call__(self, matrices: Tensor) -> Tensor:
        update = grouped(partial(frobenius, coefficients=JORDAN))(matrices)
        rows = update.square().mean(dim=2, keepdim=True)
        squares = self._squares.setdefault(matrices.shape, torch.zeros_like(rows)).lerp_(rows, 0.05)
        scaled = update / (squares.sqrt() + 1e-8)
        result: Tensor = scaled * (_norm(update) / _norm(scaled))
        return result


def grouped(kernel: Orthogonalise) -> Orthogonalise:
    """The function of wide matrices applied to any, four at a time."""

    def orthogonalised(matrices: Tensor) -> Tensor:
        tall = matrices.shape[1] > matrices.shape[2]
        wide = matrices.transpose(1, 2) if tall else matrices
        result = torch.cat([kernel(group) for group in torch.split(wide, 4)])
        return result.transpose(1, 2) if tall else result

    return orthogonalised


def _iterated(x: Tensor, coefficients: Coefficients) -> Tensor:
    for a, b, c in coefficients:
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def _norm(x: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.matrix_norm(x, keepdim=True) + 1e-7
    return norm


DEFAULT = muon.orthogonalised
VARIANTS: dict[str, Callable[[], Orthogonalise]] = {
    "regard's": lambda: DEFAULT,
    "Jordan's, 5": lambda: grouped(partial(frobenius, coefficients=JORDAN)),
    "Jordan's, 4": lambda: grouped(partial(frobenius, coefficients=JORDAN[:4])),
    "Jordan's, 5, bfloat16": lambda: grouped(low),
    "Polar Express, 5": lambda: grouped(partial(frobenius, coefficients=POLAR_EXPRESS)),
    "Polar Express, 4": lambda: grouped(partial(frobenius, coefficients=POLAR_EXPRESS[:4])),
    "Turbo-Muon, 4": lambda: grouped(almost_orthogonal),
    "Schatten-8, 4": lambda: grouped(partial(schatten, coefficients=TURBO)),
    "NorMuon, 5": NorMuon,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", action="store_true", help="time and singular values instead of learning")
    parser.add_argument("--rounds", type=int, default=7, help="of --kernels")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--text", type=Path, help="the folder tok of Multi30k; without it the pocket corpus is read")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="other settings of [train]")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    given = parser.parse_args()
    torch.set_num_threads(1 if given.kernels else given.workers)
    if given.kernels:
        report_kernels(given.only, given.rounds)
        return
    changes = {key: float(value) for key, _, value in (change.partition("=") for change in given.set)}
    print("| variant | validation loss, by seed | mean | mean BLEU | optimiser's share of the time |\n|" + " --- |" * 5)
    with tempfile.TemporaryDirectory() as home:
        for name in given.only:
            runs = [_trained(name, seed, given.steps, given.text, changes, Path(home)) for seed in given.seeds]
            losses, scores, shares = zip(*runs, strict=True)
            by_seed = ", ".join(f"{loss:.4f}" for loss in losses)
            mean, bleu, share = (statistics.mean(values) for values in (losses, scores, shares))
            print(f"| {name} | {by_seed} | {mean:.4f} | {bleu:.1f} | {share:.1%} |", flush=True)


def report_kernels(names: list[str], rounds: int) -> None:
    """The best processor time of alternating rounds, and singular values of the results for random and for ill-conditioned matrices."""
    heads = [f"{n} of {rows} x {columns} (ms)" for n, rows, columns in SHAPES]
    print(f"| variant | {' | '.join(heads)} | singular values, random: lowest, mean, highest | from 1 to 0.001 |")
    print("|" + " --- |" * (3 + len(heads)))
    kernels = {name: VARIANTS[name]() for name in names}
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in SHAPES]
    best = {name: [float("inf")] * len(inputs) for name in names}
    for _ in range(rounds + 1):  # the first warms up
        for name, kernel in kernels.items():
            for place, matrices in enumerate(inputs):
                began = time.process_time()
                kernel(matrices)
                best[name][place] = min(best[name][place], time.process_time() - began)
    u, _, v = torch.linalg.svd(torch.randn(4, 256, 128), full_matrices=False)
    steep = u @ torch.diag(torch.logspace(0, -3, 128)) @ v
    for name in names:
        values = [torch.linalg.svdvals(VARIANTS[name]()(x)) for x in (inputs[1], steep)]
        shown = [f"{s.min():.2f}, {s.mean():.2f}, {s.max():.2f}" for s in values]
        print(f"| {name} | {' | '.join(f'{1e3 * t:.1f}' for t in best[name])} | {' | '.join(shown)} |")


def _settings(text: Path | None, steps: int, seed: int, changes: dict[str, float]) -> dict[str, Any]:
    ends: dict[str, Any] = {"max_steps": steps, "validate_every": steps, "save_every": steps, "warmup": steps // 10}
    if text is not None:
        settings = read_settings(Path(__file__).parent.parent / "recipes" / "multi30k-quick.toml")
        files = {"src": ("train", "en"), "tgt": ("train", "de"), "valid_src": ("val", "en"), "valid_tgt": ("val", "de")}
        data = {key: str(file_of(text, part, language)) for key, (part, language) in files.items()}
        train = settings["train"] | {"average": 0, "keep": 1, "seed": seed} | ends | changes
        return settings | {"data": data, "train": train}
    return {
        "data": {"pocket": 40_000},
        "text": {"vocabulary": 1000},
        "model": {"preset": "tiny", "layers": 2, "dropout": 0.1},
        "train": {"seed": seed, **ends, **changes},
    }


def _trained(
    name: str, seed: int, steps: int, text: Path | None, changes: dict[str, float], home: Path
) -> tuple[float, float, float]:
    """Validation loss, greedy BLEU, and the share of the optimiser in the time of the steps."""
    kernel = VARIANTS[name]()
    muon.orthogonalised = lambda matrices, products: kernel(matrices)  # type: ignore[assignment]
    spent, step, events = 0.0, Optimizer.step, []

    def timed(optimizer: Optimizer, learning_rate: float, share: int = 0) -> None:
        nonlocal spent
        began = time.perf_counter()
        step(optimizer, learning_rate, share)
        spent += time.perf_counter() - began

    Optimizer.step = timed  # type: ignore[method-assign]
    train_run(run_settings(_settings(text, steps, seed, changes)), home / f"{name}-{seed}", [events.append])
    Optimizer.step = step  # type: ignore[method-assign]
    last = next(event for event in reversed(events) if event.name == "validated")
    return last.loss, last.scores["bleu"], spent / last.seconds


if __name__ == "__main__":
    main()

"""Attention as a support vector machine: the correlation of trained attention with the solutions of least norm.

    python benchmarks/attention_svm.py [--runs 100] [--figure svm.svg]

n = 6 samples of T = 8 tokens of width d = 10, as in Tarzanagh et al. 2023. Needs regard[lab].
"""

import argparse
import statistics
import time
from pathlib import Path

from regard.lab.attention_svm import attention_as_svm, draw_attention_svm, layers_as_svms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--layered-runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    result = attention_as_svm(runs=arguments.runs, steps=arguments.steps)
    print("| trained | to Frobenius | to nuclear | best tokens selected | support tokens | rank (values above 5 %) |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label, form in (("W", result.direct), ("W = K Q^T", result.factored)):
        rank = sum(value > 0.05 for value in form.singular_values)
        best, support = statistics.mean(form.best_selected), statistics.mean(form.support)
        frobenius, nuclear = summary(form.to_frobenius[-1]), summary(form.to_nuclear[-1])
        print(f"| {label} | {frobenius} | {nuclear} | {best:.0%} | {support:.0%} | {rank} |")
    print(f"the two solutions with each other: {summary(result.direct.between)}")
    layers = layers_as_svms(runs=arguments.layered_runs, steps=arguments.steps)
    print("| layer of two | with its machine | with the machine of another run |")
    print("| --- | --- | --- |")
    print(f"| first | {summary(layers.first)} | {summary(layers.first_shuffled)} |")
    print(f"| second | {summary(layers.second)} | {summary(layers.second_shuffled)} |")
    if arguments.figure:
        draw_attention_svm(result, arguments.figure)
    print(f"{time.perf_counter() - began:.0f} seconds")


def summary(values: list[float]) -> str:
    return f"{statistics.mean(values):.4f} ({min(values):.4f} to {max(values):.4f})"


if __name__ == "__main__":
    main()

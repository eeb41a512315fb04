"""Speed of a language model beside Hugging Face's `generate` of GPT-2 with the same weights, in alternating rounds.

    python benchmarks/generating.py --layers 4 --width 128 --tokens 128 --batches 1 8

The weights are random: speed does not depend on them. Greedy: the share of texts that are the same is printed. Sampling (temperature 0.8,
top-k 50, top-p 0.9): the largest difference of the filtered distributions on the greedy text, forced; the texts themselves differ, since
each program has its own random numbers. Needs `transformers`.
"""

import argparse
import statistics
import time
from typing import Any

import peers
import torch
from decoding_programs import CORES, processor

from regard.engine.prefill import PrefilledStepper
from regard.models.config import LanguageTransformerConfig
from regard.models.decoder_only import DecoderOnly
from regard.search.greedy import greedy
from regard.search.sampling import filtered, sample

TEMPERATURE, TOP_K, TOP_P = 0.8, 50, 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(CORES)
    torch.manual_seed(1)
    config = LanguageTransformerConfig(
        layers=arguments.layers,
        width=arguments.width,
        heads=arguments.heads,
        feed_forward=4 * arguments.width,
        positions="learned",
        activation="gelu",
        max_positions=arguments.tokens + 4,
    )
    ours = DecoderOnly(config, arguments.vocabulary, arguments.tokens + 4).eval()
    theirs = peers.language_model(ours, config, arguments.vocabulary, arguments.tokens + 4)
    print(
        f"{arguments.layers} layers, width {arguments.width}, {arguments.tokens} tokens; {processor()}, {CORES} cores\n"
    )
    print(
        "| texts at once | search | regard tokens/s | Hugging Face tokens/s | ratio | same texts, or largest difference of p |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for texts in arguments.batches:
        measure(arguments, ours, theirs, texts)


@torch.no_grad()
def measure(arguments: argparse.Namespace, ours: DecoderOnly, theirs: Any, texts: int) -> None:
    """Print the rows of greedy search and of sampling."""
    # as many different beginnings as texts, all of one token
    first = torch.arange(2, 2 + texts)[:, None]
    begin = torch.cat([torch.full((texts, 1), ours.start_token), first], dim=1)
    source, stepper, mask = (
        torch.zeros(texts, 0, dtype=torch.long),
        PrefilledStepper(ours, begin),
        torch.ones_like(begin),
    )
    chosen = {"temperature": TEMPERATURE, "top_k": TOP_K, "top_p": TOP_P}

    def regard_greedy() -> list[list[int]]:
        return [list(found[0].tokens) for found in greedy(stepper, source, max_length=arguments.tokens)]

    def regard_sampling() -> list[list[int]]:
        drawn = sample(stepper, source, max_length=arguments.tokens, seed=1, **chosen)
        return [list(found[0].tokens) for found in drawn]

    def hugging_face(**options: Any) -> list[list[int]]:
        said = theirs.generate(begin, attention_mask=mask, max_new_tokens=arguments.tokens, **options)
        return [_until_end(row[2:], ours.end_token) for row in said.tolist()]

    greedy_pair = (regard_greedy, lambda: hugging_face(do_sample=False))
    one, other = (run() for run in greedy_pair)
    same = statistics.mean(a == b for a, b in zip(one, other, strict=True))
    row(arguments.rounds, texts, "greedy", greedy_pair, f"{same:.3f} the same")
    differs = f"p differs by {difference(ours, theirs, one):.1e}"
    row(arguments.rounds, texts, "sampling", (regard_sampling, lambda: hugging_face(do_sample=True, **chosen)), differs)


def row(rounds: int, texts: int, search: str, pair: tuple[Any, Any], remark: str) -> None:
    """Print one row: the tokens per second of both, each by its own number of tokens, in alternating rounds."""
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, found in zip(pair, rates, strict=True):
            began = time.perf_counter()
            said = run()
            found.append(sum(len(tokens) for tokens in said) / (time.perf_counter() - began))
    ratios = [one / other for one, other in zip(*rates, strict=True)]
    cells = [str(texts), search, *(f"{statistics.median(found):,.0f}" for found in rates)]
    cells += [f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", remark]
    print(f"| {' | '.join(cells)} |", flush=True)


def _until_end(tokens: list[int], end_token: int) -> list[int]:
    return tokens[: tokens.index(end_token)] if end_token in tokens else tokens


def difference(ours: DecoderOnly, theirs: Any, texts: list[list[int]]) -> float:
    """The largest difference between the two filtered distributions of any token of the texts, forced."""
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    longest = max(map(len, texts))
    rows = [[ours.start_token, *row] for row in texts if len(row) == longest]
    tokens = torch.tensor(rows)[:, : ours.context]
    logits = ours(tokens[:, :0], tokens).flatten(0, 1)
    found, ids = filtered(logits, temperature=TEMPERATURE, top_k=TOP_K, top_p=TOP_P)
    assert ids is not None
    probabilities = torch.zeros_like(logits).scatter_(1, ids, found.to(logits.dtype))
    probabilities /= probabilities.sum(dim=1, keepdim=True)
    other = theirs(tokens).logits.flatten(0, 1)[:, : logits.shape[1]]
    for warper in (TemperatureLogitsWarper(TEMPERATURE), TopKLogitsWarper(TOP_K), TopPLogitsWarper(TOP_P)):
        other = warper(tokens, other)
    return float((probabilities - other.softmax(dim=1)).abs().max())


if __name__ == "__main__":
    main()

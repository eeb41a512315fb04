"""The transition matrix of a Markov model for its report: the most frequent contexts and tokens, with names for a person to read.

Shapes: C contexts, n tokens of a context, R rows and K columns that are shown, V outputs.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.bundle.opened import OpenBundle
from regard.explain.records import Report, Row, Transitions
from regard.models.markov import Markov
from regard.models.skips import SkipMarkov
from regard.tasks.table import TASKS
from regard.text.lines import newline_of
from regard.text.normalise import SPACE_MARK
from regard.text.tokenizer import Tokenizer

MOST_ROWS, MOST_COLUMNS = 40, 30
RANKED = 200_000  # contexts: of a larger model, those of one token are shown
ROUNDS = 30  # of the chain, until its shares have settled
START, END, LINE_END, SPACE = "⟨start⟩", "⟨end⟩", "⏎", "␣"


def add_language_views(report: Report, rows: Sequence[Row], bundle: OpenBundle | None) -> Report:
    """The report with the transition matrix of a Markov model."""
    if bundle is None or not bundle.config.counted:
        return report
    writer = TASKS["generate"].load(bundle, "cpu", "torch", "float32")
    return replace(report, transitions=transition_matrix(writer.network, writer.tokenizer))


def transition_matrix(network: Markov | SkipMarkov, tokenizer: Tokenizer) -> Transitions:
    """The most frequent rows and columns of the transition matrix, in alphabetical order as in the lectures."""
    skips = isinstance(network, SkipMarkov)
    contexts, frequency = _pairs(network) if isinstance(network, SkipMarkov) else _contexts(network)
    chosen = frequency.topk(min(MOST_ROWS, len(contexts))).indices
    shown = contexts[chosen]
    probabilities = network.after(shown)  # [R, V]
    keys = (network.first if isinstance(network, SkipMarkov) else network).get_buffer("1_keys")
    unseen = list(network.unseen_tokens())
    if not (keys % network.target_pad == network.end_token).any():  # one running text, which does not end
        unseen.append(network.end_token)
    expected = (frequency[chosen, None] + 1e-9) * probabilities
    expected[:, unseen] = 0.0
    possible = int((expected.sum(dim=0) > 0).sum())
    columns = expected.sum(dim=0).topk(min(MOST_COLUMNS, possible)).indices
    names = [[_name(tokenizer, token) for token in context] for context in shown.tolist()]
    by_name = sorted(range(len(names)), key=lambda row: [_order(name) for name in names[row]])
    ordered = sorted(columns.tolist(), key=lambda token: _order(_name(tokenizer, token)))
    votes = network.votes_of(shown).tolist() if isinstance(network, SkipMarkov) else [True] * len(names)
    return Transitions(
        contexts=[(" … " if skips else " ").join(names[row]) for row in by_name],
        tokens=[_name(tokenizer, token) for token in ordered],
        probabilities=probabilities[by_name][:, ordered].tolist(),
        masked=[not votes[row] for row in by_name],
        all_contexts=len(contexts),
        all_tokens=network.target_pad - len(unseen),
    )


def _contexts(network: Markov) -> tuple[Tensor, Tensor]:
    """Contexts [C, n] and their probabilities in running text [C]."""
    longest = network.order if len(network.get_buffer(f"{network.order}_keys")) <= RANKED else 1
    contexts = network.contexts(longest)
    frequency = token_frequencies(network)[contexts[:, 0]]
    if longest > 1:
        places = network.hidden(contexts, contexts)[:, :-1].flatten(0, 1)
        likelihoods = network.likelihoods(places, contexts[:, 1:].flatten()).double()
        frequency = frequency * likelihoods.view(len(contexts), -1).sum(dim=1).exp()
    return contexts, frequency


def _pairs(network: SkipMarkov) -> tuple[Tensor, Tensor]:
    """Pairs [C, 2] and about how frequent they are [C]: those that vote first."""
    contexts = network.contexts()
    return contexts, token_frequencies(network.first)[contexts].prod(dim=1) + network.votes_of(contexts)


def token_frequencies(network: Markov) -> Tensor:
    """[V + 1]: the share of each token in what the chain of the first order writes, the start token last; ends become starts.

    The tables of a smoothed model hold no counts: those of single words say after how many different words each occurs.
    """
    tables = {name: network.get_buffer(name) for name in ("words", "1_keys", "1_probabilities", "1_rest")}
    words, probabilities, rest = (tables[name].double() for name in ("words", "1_probabilities", "1_rest"))
    contexts, following = tables["1_keys"] // network.target_pad, tables["1_keys"] % network.target_pad
    share = torch.cat([words, words[:1]])
    mean = torch.zeros_like(share)  # over all rounds, as a chain may have a period
    for _ in range(ROUNDS):
        written = words * (share * rest).sum()
        written.index_add_(0, following, share[contexts] * probabilities)
        share = torch.cat([written, written[:1]])
        share[0] = 0.0
        mean += share / share.sum()
    return mean / ROUNDS


def _name(tokenizer: Tokenizer, token: int) -> str:
    vocabulary = tokenizer.vocabulary
    if token in (vocabulary.pad, vocabulary.EOS, newline_of(vocabulary)):
        return START if token == vocabulary.pad else END if token == vocabulary.EOS else LINE_END
    piece = vocabulary.piece(token)
    if tokenizer.kind == "word":
        return piece.removeprefix(SPACE_MARK) or SPACE
    return piece.replace(SPACE_MARK, SPACE)


def _order(name: str) -> tuple[bool, str, str]:
    """Words in alphabetical order, then the marks."""
    return name in (START, END, LINE_END), name.lower(), name

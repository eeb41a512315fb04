"""The tree of a search against the search itself: its winner, its parents, and what was cut."""

import pytest
import torch

from regard.explain.beam_tree import beam_tree
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.search.options import SearchOptions
from regard.tasks.translate.translator import Translator
from regard.text.build import learn_pair
from regard.text.config import TextConfig


@pytest.fixture(scope="module")
def model() -> Translator:
    pairs = [("le chat dort", "the cat sleeps"), ("la pomme", "the apple")]
    tokenizers = learn_pair(TextConfig(kind="word"), lambda: pairs)
    torch.manual_seed(2)
    size = len(tokenizers.source.vocabulary)
    network = build_translator(
        TransformerConfig(layers=1, width=16, heads=2, feed_forward=16, dropout=0.0), size, size, joint=True
    )
    with torch.no_grad():
        network.target.embedding.weight.mul_(3.0)  # sharper than a fresh network, so that hypotheses differ
    return Translator(network.eval(), tokenizers)


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_the_tree_ends_in_what_the_search_returns(model: Translator, beam: int) -> None:
    best, tree = beam_tree(model, "le chat dort", beam=beam, alpha=0.5)
    seen = []
    assert model.watch("le chat dort", seen.append, SearchOptions(beam=beam, alpha=0.5))[0] == best
    by_id = {node.id: node for node in tree.nodes}
    winners = [node for node in tree.nodes if node.state == "best"]
    assert len(winners) == (1 if best.finished else 0)
    for node in winners:
        assert node.score == pytest.approx(best.score)
        assert node.logprob == pytest.approx(best.logprob)
    for step in range(1, len(seen) + 1):
        assert sum(node.state == "kept" for node in tree.nodes if node.step == step) == beam
    for node in tree.nodes[1:]:
        assert node.parent is not None
        parent = by_id[node.parent]
        assert parent.step == node.step - 1
        assert parent.state == "kept"  # only what went on has children
        assert node.logprob <= parent.logprob


def test_what_was_cut_is_less_probable_than_what_was_kept(model: Translator) -> None:
    _, tree = beam_tree(model, "la pomme", beam=3)
    for step in {node.step for node in tree.nodes if node.step}:
        kept = [node.logprob for node in tree.nodes if node.step == step and node.state == "kept"]
        cut = [node.logprob for node in tree.nodes if node.step == step and node.state == "cut" and node.text != "</s>"]
        assert not cut or max(cut) <= min(kept)

"""The tree of an exact search against the search itself: its answer, what was continued, and why the rest was not."""

import math
from types import SimpleNamespace

import pytest
import torch

from explain.models import trained_model
from regard.explain.exact_tree import exact_tree
from regard.search.exact import exact
from regard.search.expansion import BranchWatcher
from regard.search.hypothesis import Hypothesis
from search.toy import TableStepper

TEXT = "la pomme dort"  # not among the sentences that were learned, so that there is something to search


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_the_tree_is_what_was_continued(kind: str) -> None:
    model = trained_model(kind)
    best, tree = exact_tree(model, TEXT, beam=1, node_limit=300)
    [found] = model.translate([TEXT], beam=1, exact=True, node_limit=300)
    assert best.logprob == pytest.approx(found.logprob, abs=1e-9)
    assert best.proof == found.proof
    assert best.proof is not None
    continued = [node for node in tree.nodes if node.bound is not None]
    assert len(continued) == best.proof.nodes > 1
    by_id = {node.id: node for node in tree.nodes}
    for node in tree.nodes[1:]:
        assert node.parent is not None
        parent = by_id[node.parent]
        assert parent.state == "kept"
        assert parent.step == node.step - 1
        assert node.logprob <= parent.logprob
        if node.bound is not None:
            assert parent.bound is not None
            assert node.logprob > parent.bound  # or it would not have been continued
            assert node.state == ("cut" if not node.hopeful and not _ends(node.id, by_id.values()) else "kept")
    [winner] = [node for node in tree.nodes if node.state == "best"]
    assert winner.logprob == pytest.approx(best.logprob, abs=1e-9)
    pieces = []
    at = winner
    while at.parent is not None:
        at = by_id[at.parent]
        pieces.insert(0, at.text)
    assert pieces[1:] == found.tokens  # after the root


def _ends(parent, nodes):  # type: ignore[no-untyped-def]
    return any(node.parent == parent and node.bound is None for node in nodes)


class ByTable:
    """A model whose next tokens are read from a table, and whose pieces are their ids."""

    tokenizers = SimpleNamespace(target=SimpleNamespace(vocabulary=SimpleNamespace(EOS=0, piece=str)))

    def watch_exact(self, text: str, watch: BranchWatcher, *, beam: int, node_limit: int) -> Hypothesis:
        # The beam of one finds (1, 1) = 0.5 * 0.4. Of the first tokens, ending has 0.1 and 2 has 0.4; (2, 1) has 0.36, the best.
        table = {(): [0.1, 0.5, 0.4], (1,): [0.3, 0.4, 0.3], (2,): [0.05, 0.9, 0.05]}
        source = torch.zeros((1, 1), dtype=torch.long)
        [[found]] = exact(TableStepper(3, table), source, max_length=4, width=beam, node_limit=node_limit, watch=watch)
        return found


@pytest.mark.parametrize(("most", "shown"), [(500, [0, 1, 2, 3, 4]), (1, [0, 2, 3, 4])])
def test_by_hand(monkeypatch: pytest.MonkeyPatch, most: int, shown: list[int]) -> None:
    """A tree that is too large keeps its beginning and the way to the winner."""
    monkeypatch.setattr("regard.explain.exact_tree.MOST_NODES", most)
    best, tree = exact_tree(ByTable(), "a", beam=1, node_limit=99)  # type: ignore[arg-type]
    assert best.tokens == (2, 1)
    whole = [  # parent, text, probability, state, bound, hopeful continuations
        (None, "", 1.0, "kept", 0.2, 2),
        (0, "1", 0.5, "cut", 0.2, 0),  # 0.5 * 0.4 is not more than 0.2
        (0, "2", 0.4, "kept", 0.2, 1),
        (2, "1", 0.36, "kept", 0.36, 0),
        (3, "0", 0.36, "best", None, None),
    ]
    assert [node.id for node in tree.nodes] == shown
    for node in tree.nodes:
        parent, text, probability, state, bound, hopeful = whole[node.id]
        assert (node.parent, node.text, node.state, node.hopeful) == (parent, text, state, hopeful)
        assert math.exp(node.logprob) == pytest.approx(probability)
        assert node.bound == (None if bound is None else pytest.approx(math.log(bound)))

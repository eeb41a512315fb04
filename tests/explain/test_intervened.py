"""Several changes at once, against each of them alone and against what an edited network computes."""

import pytest
import torch

from explain.models import trained_model
from regard.errors import ConfigError, SearchError
from regard.explain.beam_tree import GrowingTree
from regard.explain.explain import explain
from regard.explain.intervened import intervened
from regard.explain.interventions import edited, without_head, without_tokens
from regard.explain.what_if import Change
from regard.search.options import SearchOptions
from regard.tasks.translate.translator import Translator

TEXT = "la pomme est rouge"


def test_no_change_changes_nothing() -> None:
    model = trained_model()
    under = intervened(model, TEXT, [])
    assert under.model is model
    assert (under.text, under.prefix, under.name) == (TEXT, "", "")


@pytest.mark.parametrize(
    "change",
    [Change(mask="pomme"), Change(head=("cross", 1, 0)), Change(replace=("pomme", "chat")), Change(prefix="it")],
)
def test_one_change_is_what_if(change: Change) -> None:
    model = trained_model()
    [alone] = explain(model, TEXT, parts=(), changes=[change]).what_if
    under = intervened(model, TEXT, [change])
    assert under.translate(beam=5, alpha=1.0) == alone.text
    assert under.text == alone.source


def test_changes_act_together() -> None:
    model = trained_model()
    tokenizer = model.tokenizers.source
    changes = [
        Change(mask="est"),
        Change(mask="la"),
        Change(head=("cross", 1, 0)),
        Change(head=("cross", 1, 1)),
        Change(replace=("pomme", "chat")),
    ]
    under = intervened(model, TEXT, changes)
    text = "la chat est rouge"
    assert under.text == text
    ids = tokenizer.encode(text)
    hidden = [token for token, word in enumerate(tokenizer.words(ids)) if word in (0, 2)]
    expected = model
    for edits in (without_head("cross", 1, 1), without_tokens(hidden), without_head("cross", 1, 0)):
        expected = edited(expected, edits)
    target = model.tokenizers.target.encode("the apple is red")
    torch.testing.assert_close(under.model.forced([ids], [target]), expected.forced([ids], [target]))
    assert under.name == (
        "without “est”, without “la”, without cross layer 2 head 1, without cross layer 2 head 2, “pomme” becomes “chat”"
    )


def test_what_does_not_fit_is_refused() -> None:
    model = trained_model()
    with pytest.raises(ConfigError, match="no word 'poire'"):
        intervened(model, TEXT, [Change(mask="poire")])
    short = Translator(model.network, model.tokenizers, max_tokens=3)
    with pytest.raises(SearchError, match="more than 3 tokens, and the model reads no more; mask a word of a shorter"):
        intervened(short, TEXT, [Change(mask="rouge")])
    with pytest.raises(ConfigError, match="2 layers of 2 heads"):
        intervened(model, TEXT, [Change(head=("cross", 4, 0))])
    with pytest.raises(ConfigError, match="one beginning, not 2"):
        intervened(model, TEXT, [Change(prefix="a"), Change(prefix="b")])


def test_samples_grow_a_tree_whose_leaves_are_the_samples() -> None:
    model = trained_model()
    tree = GrowingTree(model.tokenizers.target.vocabulary, 0.0)
    options = SearchOptions(sample=True, temperature=3.0, nbest=6, seed=5, alpha=0.0)
    found = model.watch(TEXT, tree.add, options)
    ends = {tuple(tree.prefix(node)): node.logprob for node in tree.nodes if node.state == "finished"}
    assert ends == pytest.approx({one.tokens: one.logprob for one in found if one.finished})
    assert len(ends) > 1  # so hot that they differ
    best = [node for node in tree.ended(found[0]) if node.state == "best"]
    assert {tuple(tree.prefix(node)) for node in best} == {found[0].tokens}

"""The search tree of a beam search: every hypothesis, its fate, and the winner."""

from dataclasses import replace

from regard.explain.records import NodeState, SearchTree, TreeNode
from regard.search.expansion import Expansion
from regard.search.hypothesis import Hypothesis
from regard.tasks.translate.translator import Translator


def beam_tree(model: Translator, text: str, *, beam: int = 4, alpha: float = 1.0) -> tuple[Hypothesis, SearchTree]:
    """Translate `text` by beam search; returns the best hypothesis and the tree. A beam of 1 is greedy search."""
    steps: list[Expansion] = []
    best = model.watch_beam(text, steps.append, beam=beam, alpha=alpha)[0]
    pieces = model.tokenizers.target.vocabulary
    nodes = [TreeNode(id=0, parent=None, text="", logprob=0.0, score=0.0, state="kept", step=0)]
    prefixes: dict[int, tuple[int, ...]] = {0: ()}
    live = [0]
    for number, step in enumerate(steps, start=1):
        going, finished = step.going[0].tolist(), step.finished[0].tolist()
        children = []
        for rank, (parent, token, logprob) in enumerate(
            zip(step.parents[0].tolist(), step.tokens[0].tolist(), step.logprobs[0].tolist(), strict=True)
        ):
            ends = token == pieces.EOS
            state: NodeState = "finished" if ends and finished[rank : rank + 1] == [True] else "cut"
            node = TreeNode(
                id=len(nodes),
                parent=live[parent],
                text=pieces.piece(token),
                logprob=logprob,
                score=logprob / max(1, number - ends) ** alpha,
                state="kept" if rank in going else state,
                step=number,
            )
            prefixes[node.id] = prefixes[live[parent]] if ends else (*prefixes[live[parent]], token)
            if node.state == "finished" and prefixes[node.id] == best.tokens:
                node = replace(node, state="best")
            nodes.append(node)
            children.append(node.id)
        live = [children[rank] for rank in going]
    return best, SearchTree(source=text, nodes=nodes, beam=beam, alpha=alpha)

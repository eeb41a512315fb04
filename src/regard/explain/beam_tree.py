"""The tree of a beam search: every hypothesis that was looked at, what became of it, and which one won."""

from dataclasses import replace

from regard.engine.model import Expansion, Hypothesis, Model
from regard.explain.records import NodeState, SearchTree, TreeNode


def beam_tree(model: Model, text: str, *, beam: int = 4, alpha: float = 1.0) -> tuple[Hypothesis, SearchTree]:
    """Search for the translation of `text`; the answer, and all that was looked at for it. A beam of one is greedy."""
    steps: list[Expansion] = []
    best = model.watch_beam(text, steps.append, beam=beam, alpha=alpha)[0]
    pieces = model.tokenizers.target.vocabulary
    nodes = [TreeNode(id=0, parent=None, text="", logprob=0.0, score=0.0, state="kept", step=0)]
    said: dict[int, tuple[int, ...]] = {0: ()}
    live = [0]
    for number, step in enumerate(steps, start=1):
        going, finished = step.going[0].tolist(), step.finished[0].tolist()
        made = []
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
            said[node.id] = said[live[parent]] if ends else (*said[live[parent]], token)
            if node.state == "finished" and said[node.id] == best.tokens:
                node = replace(node, state="best")
            nodes.append(node)
            made.append(node.id)
        live = [made[rank] for rank in going]
    return best, SearchTree(source=text, nodes=nodes, beam=beam, alpha=alpha)

"""The search tree of a beam search or of samples: every hypothesis, its fate, and the winner. It can be watched while it grows."""

from collections.abc import Sequence
from dataclasses import replace

from regard.explain.records import NodeState, SearchTree, TreeNode
from regard.search.expansion import Expansion
from regard.search.hypothesis import Hypothesis
from regard.search.options import SearchOptions
from regard.tasks.translate.translator import Translator
from regard.text.vocabulary import Vocabulary

ROOT = TreeNode(id=0, parent=None, text="", logprob=0.0, score=0.0, state="kept", step=0)


class GrowingTree:
    """The tree of a search that is running. Each step adds nodes; the best is known at the end."""

    def __init__(self, pieces: Vocabulary, alpha: float = 1.0) -> None:
        self.nodes: list[TreeNode] = [ROOT]
        self._pieces, self._alpha = pieces, alpha
        self._prefixes: dict[int, tuple[int, ...]] = {0: ()}
        self._live = [0]
        self._steps = 0

    def add(self, step: Expansion) -> list[TreeNode]:
        """The nodes of one more step."""
        self._steps += 1
        going, finished = step.going[0].tolist(), step.finished[0].tolist()
        children: dict[int, TreeNode] = {}  # rank -> node
        for rank, (parent, token, logprob) in enumerate(
            zip(step.parents[0].tolist(), step.tokens[0].tolist(), step.logprobs[0].tolist(), strict=True)
        ):
            if logprob == -float("inf"):  # padding, or a sample that has ended before
                continue
            ends = token == self._pieces.EOS
            state: NodeState = "finished" if ends and finished[rank : rank + 1] == [True] else "cut"
            node = TreeNode(
                id=len(self.nodes) + len(children),
                parent=self._live[parent],
                text=self._pieces.piece(token),
                logprob=logprob,
                score=logprob / max(1, self._steps - ends) ** self._alpha,
                state="kept" if rank in going else state,
                step=self._steps,
            )
            before = self._prefixes[self._live[parent]]
            self._prefixes[node.id] = before if ends else (*before, token)
            children[rank] = node
        self.nodes.extend(children.values())
        self._live = [children[rank].id for rank in going if rank in children]
        return list(children.values())

    def prefix(self, node: TreeNode) -> Sequence[int]:
        """The tokens from the root to a node, without the end mark."""
        return self._prefixes[node.id]

    def ended(self, best: Hypothesis) -> list[TreeNode]:
        """All nodes, the winner marked."""
        return [
            replace(node, state="best") if node.state == "finished" and self._prefixes[node.id] == best.tokens else node
            for node in self.nodes
        ]


def beam_tree(model: Translator, text: str, *, beam: int = 4, alpha: float = 1.0) -> tuple[Hypothesis, SearchTree]:
    """Translate `text` by beam search; returns the best hypothesis and the tree. A beam of 1 is greedy search."""
    tree = GrowingTree(model.tokenizers.target.vocabulary, alpha)

    def add(expansion: Expansion) -> None:
        tree.add(expansion)

    best = model.watch(text, add, SearchOptions(beam=beam, alpha=alpha))[0]
    return best, SearchTree(source=text, nodes=tree.ended(best), beam=beam, alpha=alpha)

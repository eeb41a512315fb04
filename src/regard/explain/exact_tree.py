"""The tree of an exact search: the partial outputs that it continued, the bound that cut the rest, and which output won."""

from collections.abc import Iterable

from regard.engine.model import Branching, Hypothesis, Model
from regard.explain.records import SearchTree, TreeNode
from regard.text.vocabulary import Vocabulary

MOST_NODES = 500  # that are kept, beside the way to the winner


def exact_tree(model: Model, text: str, *, beam: int = 5, node_limit: int) -> tuple[Hypothesis, SearchTree]:
    """Search for the most probable translation of `text`; the answer, and the first that was looked at for it."""
    steps: list[Branching] = []
    best = model.watch_exact(text, steps.append, beam=beam, node_limit=node_limit)
    nodes = _nodes(steps, best, model.tokenizers.target.vocabulary)
    return best, SearchTree(source=text, nodes=_first(nodes), beam=beam, alpha=0.0)


def _nodes(steps: Iterable[Branching], best: Hypothesis, pieces: Vocabulary) -> list[TreeNode]:
    """All partial outputs, and after each the end mark where the output that ends there was the best until then."""
    nodes: list[TreeNode] = []
    ids: dict[int, int] = {}  # number of the search -> id of the node
    said: list[tuple[int, ...]] = []  # by number
    bound = float("-inf")
    for step in steps:
        better = step.bound if step.bound > bound else None
        bound = step.bound
        for place, number in enumerate(step.numbers):
            said.append((*said[step.parents[place]], step.tokens[place]) if number else ())
            won = best.finished and said[number] == best.tokens
            ends = won or step.endings[place] == better
            parent = ids[step.parents[place]] if number else None
            ids[number] = len(nodes)
            nodes.append(
                TreeNode(
                    id=len(nodes),
                    parent=parent,
                    text=pieces.piece(step.tokens[place]) if number else "",
                    logprob=step.logprobs[place],
                    score=step.logprobs[place],
                    state="kept" if ends or step.kept[place] else "cut",
                    step=len(said[number]),
                    bound=bound,
                    hopeful=step.kept[place],
                )
            )
            if ends:
                nodes.append(
                    TreeNode(
                        id=len(nodes),
                        parent=ids[number],
                        text=pieces.piece(pieces.EOS),
                        logprob=step.endings[place],
                        score=step.endings[place],
                        state="best" if won else "finished",
                        step=len(said[number]) + 1,
                    )
                )
    return nodes


def _first(nodes: list[TreeNode]) -> list[TreeNode]:
    """The first of them, and those on the way to the winner."""
    way: set[int | None] = {node.id for node in nodes if node.state == "best"}
    for node in reversed(nodes):  # a parent comes before its children
        if node.id in way:
            way.add(node.parent)
    return [node for node in nodes if node.id < MOST_NODES or node.id in way]

"""The search tree of an exact search: the partial outputs it continued, the bounds, and the winner."""

from collections.abc import Iterable

from regard.explain.records import SearchTree, TreeNode
from regard.search.expansion import Branching
from regard.search.hypothesis import Hypothesis
from regard.tasks.translate.translator import Translator
from regard.text.vocabulary import Vocabulary

MOST_NODES = 500  # kept in addition to the path to the winner


def exact_tree(model: Translator, text: str, *, beam: int = 5, node_limit: int) -> tuple[Hypothesis, SearchTree]:
    """Search for the most probable translation of `text`; returns it and the first nodes of the search tree."""
    steps: list[Branching] = []
    best = model.watch_exact(text, steps.append, beam=beam, node_limit=node_limit)
    nodes = _nodes(steps, best, model.tokenizers.target.vocabulary)
    return best, SearchTree(source=text, nodes=_first_and_winning(nodes), beam=beam, alpha=0.0)


def _nodes(steps: Iterable[Branching], best: Hypothesis, pieces: Vocabulary) -> list[TreeNode]:
    """A node for each partial output, and an end node for each complete output that was the best so far."""
    nodes: list[TreeNode] = []
    ids: dict[int, int] = {}  # number of the search -> id of the node
    prefixes: list[tuple[int, ...]] = []  # by number of the search
    bound = float("-inf")
    for step in steps:
        better = step.bound if step.bound > bound else None
        bound = step.bound
        for place, number in enumerate(step.numbers):
            prefixes.append((*prefixes[step.parents[place]], step.tokens[place]) if number else ())
            won = best.finished and prefixes[number] == best.tokens
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
                    step=len(prefixes[number]),
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
                        step=len(prefixes[number]) + 1,
                    )
                )
    return nodes


def _first_and_winning(nodes: list[TreeNode]) -> list[TreeNode]:
    """The first `MOST_NODES` nodes, and those on the path to the winner."""
    winning: set[int | None] = {node.id for node in nodes if node.state == "best"}
    for node in reversed(nodes):  # a parent comes before its children
        if node.id in winning:
            winning.add(node.parent)
    return [node for node in nodes if node.id < MOST_NODES or node.id in winning]

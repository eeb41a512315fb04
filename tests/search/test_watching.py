"""What a watcher is told is enough to rebuild the search: the tree of what was expanded, kept, cut and finished."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.expansion import Expansion
from regard.search.filters import Filters
from regard.search.greedy import greedy
from regard.search.sampling import sample
from search.toy import ToyStepper, padded, random_sources

SEARCHES: dict[str, Callable[..., Any]] = {
    "greedy": greedy,
    "beam": partial(beam, width=3, nbest=3),
    "diverse": partial(diverse, width=6, groups=3, nbest=6),
    "phrases": partial(beam, width=4, nbest=4, phrases=[[(1, 2)], [], [(3,), (2,)]]),
    "prefixes": partial(beam, width=3, nbest=3, filters=Filters(prefixes=[(1, 1), (2,), (3, 2, 1)])),
    "diverse prefixes": partial(diverse, width=4, groups=2, filters=Filters(prefixes=[(1, 1), (2,), (3, 2, 1)])),
    "sample": partial(sample, samples=4, seed=3),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_steps_make_the_tree(name: str) -> None:
    cut = 0
    for seed in range(4):
        stepper = ToyStepper(6, seed, end_bias=1.0)
        sources = random_sources(3, seed)
        steps: list[Expansion] = []
        watched = SEARCHES[name](stepper, padded(sources), max_length=5, watch=steps.append)
        unwatched = SEARCHES[name](stepper, padded(sources), max_length=5)
        assert watched == unwatched
        live: list[list[tuple[int, ...]]] = [[()] for _ in sources]
        finished: list[dict[tuple[int, ...], float]] = [{} for _ in sources]
        for step in steps:
            for row, sentence in enumerate(step.sentences.tolist()):
                made = []
                ended = step.finished[row].tolist()
                rows = zip(
                    step.parents[row].tolist(), step.tokens[row].tolist(), step.logprobs[row].tolist(), strict=True
                )
                for rank, (parent, token, logprob) in enumerate(rows):
                    said = (*live[sentence][parent], token)
                    made.append(said)
                    if logprob > float("-inf"):
                        gains = [
                            stepper.next_logprobs(sources[sentence], said[:at])[one] for at, one in enumerate(said)
                        ]
                        assert logprob == pytest.approx(sum(gains), abs=1e-9)
                        if ended[rank : rank + 1] == [True]:
                            assert token == 0
                            finished[sentence][said[:-1]] = logprob
                        cut += rank not in step.going[row].tolist() and token != 0
                live[sentence] = [made[rank] for rank in step.going[row].tolist()]
        for sentence, found in enumerate(watched):
            for one in found:
                if one.finished:
                    assert finished[sentence][one.tokens] == pytest.approx(one.logprob, abs=1e-9)
    assert (cut > 0) or name == "sample"

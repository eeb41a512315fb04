"""The mean of a corpus metric over groups of sentences, such as the directions of a model, as sums over sentences.

So the paired bootstrap can resample the sentences of each group.
"""

from collections.abc import Sequence
from dataclasses import replace

from regard.metrics.counting import CountedMetric, SentenceCounts


def mean_of_groups(metric: CountedMetric, groups: Sequence[str]) -> CountedMetric:
    """The metric of each group by itself, averaged. groups: the group of each sentence that will be counted.

    The counts of a sentence stand in the columns of its group, with a 1 beside them. A group without sentences is left out.
    """
    names = list(dict.fromkeys(groups))

    def count(hypotheses: Sequence[str], *references: Sequence[str | None]) -> SentenceCounts:
        import numpy as np

        plain = metric.count(hypotheses, *references)
        marked = np.concatenate([plain, np.ones((len(plain), 1))], axis=1)
        table = np.zeros((len(plain), len(names), marked.shape[1]))
        table[np.arange(len(plain)), [names.index(group) for group in groups]] = marked
        return table.reshape(len(plain), -1)

    def score(sums: SentenceCounts) -> float:
        blocks = sums.reshape(len(names), -1)
        scores = [metric.score(block[:-1]) for block in blocks if block[-1] > 0]
        return sum(scores) / len(scores)

    return replace(metric, count=count, score=score)

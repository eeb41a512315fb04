"""`Tagger`: texts in, a label for every word out. It joins a tokenizer, a network and the names of the labels.

A text longer than `MAX_TOKENS`, or than the learned positions, is split into parts that are tagged independently; the result says so
(`parted`).
"""

from collections.abc import Sequence

from regard.tasks.checks import check_texts
from regard.tasks.classify.classification import Tagging
from regard.tasks.classify.classifier import LabelServer, distributions
from regard.text.tokenizer import word_ends


class Tagger(LabelServer):
    """Labels words. Made by `regard.load`, or around a network that is being trained."""

    marks = 1  # an end mark

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> list[Tagging]:
        """The labels of the words of each text, in order. An empty text has none."""
        check_texts(texts)
        rows = self.tokenizer.encode_batch(texts)
        return [
            Tagging(
                text,
                self.tokenizer.decode(ids).split(),
                [self.labels[max(range(len(values)), key=values.__getitem__)] for values in by_word],
                [dict(zip(self.labels, values, strict=True)) for values in by_word],
                parted=len(ids) > self.max_tokens,
            )
            for text, ids, by_word in zip(texts, rows, self.probabilities(rows, batch_tokens), strict=True)
        ]

    def probabilities(self, rows: Sequence[Sequence[int]], batch_tokens: int = 4096) -> list[list[list[float]]]:
        """The probability of each label, for each word of each row of ids without end mark."""
        starts = [range(0, len(ids), self.max_tokens) for ids in rows]
        parts = [ids[start : start + self.max_tokens] for ids, own in zip(rows, starts, strict=True) for start in own]
        values = iter(distributions(self._resident, self.tokenizer, parts, batch_tokens))
        results = []
        for ids, own in zip(rows, starts, strict=True):
            tokens = [each for start in own for each in next(values)[: min(self.max_tokens, len(ids) - start)]]
            results.append([tokens[place] for place in word_ends(self.tokenizer, ids)])
        return results

"""An encoded corpus of several directions, with a tag for the target language before each source.

The tag is put there when ids are read, so that the files of the corpus hold plain text, and BPE-dropout acts on text alone.

Shapes: N examples, B examples of a batch.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Corpus
from regard.data.mixing import CorpusPart
from regard.text.packed import Packed


class TaggedCorpus:
    """An `EncodedPairs` whose sources begin with a tag."""

    def __init__(self, corpus: Corpus, tags: NDArray[np.int64]) -> None:
        """tags: [N] the id of the tag of each example."""
        assert len(tags) == len(corpus), f"{len(tags)} tags for {len(corpus)} examples"
        self._plain, self._tags = corpus, tags

    def __len__(self) -> int:
        return len(self._plain)

    @property
    def max_length(self) -> int:
        """The longest side of an example in tokens, the tag included."""
        return self._plain.max_length + 1

    @property
    def lines(self) -> NDArray[np.int64]:
        """[N] the input line, from 1, of each example."""
        return self._plain.lines

    @cached_property
    def source_lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each source, with the tag and without end mark."""
        return self._plain.source_lengths + 1

    @property
    def target_lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each target, without end mark."""
        return self._plain.target_lengths

    def sources(self, examples: NDArray[np.int64]) -> Packed:
        """The source token ids of several examples, each after its tag."""
        rows = self._plain.sources(examples)
        starts = np.cumsum(rows.lengths) - rows.lengths
        return Packed(np.insert(rows.ids.astype(np.int64), starts, self._tags[examples]), rows.lengths + 1)

    def targets(self, examples: NDArray[np.int64]) -> Packed:
        """The target token ids of several examples."""
        return self._plain.targets(examples)


def tags_of_parts(parts: Sequence[CorpusPart], tag_of: Mapping[str, int]) -> NDArray[np.int64]:
    """[N] the tag of each training example. tag_of: target language -> id."""
    tags: list[NDArray[np.int64]] = []
    for part in parts:
        assert part.direction is not None, "of several directions"
        tags.append(np.full(part.examples, tag_of[part.direction[1]], dtype=np.int64))
    return np.concatenate(tags)

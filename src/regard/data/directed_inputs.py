"""The inputs of a run in several directions: one stream of pairs for each corpus and direction, also of validation and test text.

A file whose pairs name their languages is read once for each direction. The streams know no tags.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from regard.data.config import PairData
from regard.data.corpus_config import CorpusData, Directed, Direction, direction_name
from regard.data.formats import LanguagePair
from regard.data.language_columns import read_pairs_of
from regard.data.readers import Digests, Pair, display_name, read_pairs
from regard.errors import DataError


@dataclass(frozen=True)
class TrainingCorpus:
    """One training corpus of a run: a name for messages, its pairs, and its weight."""

    name: str
    pairs: Callable[[], Iterator[Pair]]
    weight: float = 1.0
    direction: Direction | None = None
    """The direction, where a run has several."""
    share: float | None = None
    """Of replayed text: its share of the examples of an epoch, which decides the weight. None: it is no replay."""


def with_languages(data: PairData, language_pair: LanguagePair) -> PairData:
    """The same corpora with their languages as settings: a copy of a stream has no suffix that names its language."""
    if not data.several_directions:
        return data.model_copy(update={"src_lang": language_pair[0], "tgt_lang": language_pair[1]})
    if data.replay is not None and (old := data.replay_directed) is not None:
        languages = dict(zip(("src_lang", "tgt_lang"), old.direction, strict=True))
        data = data.model_copy(update={"replay": data.replay.model_copy(update=languages)})
    if not data.corpora:
        source, target = data.directed[0].direction
        return data.model_copy(update={"src_lang": source, "tgt_lang": target})
    stored = {part.corpus: part.stored for part in data.directed if not part.by_column}
    rows = [
        row.model_copy(update=dict(zip(("src_lang", "tgt_lang"), stored[number], strict=True)))
        if number in stored
        else row
        for number, row in enumerate(data.corpora)
    ]
    return data.model_copy(update={"corpora": tuple(rows)})


def training_corpora(data: PairData, language_pair: LanguagePair, digests: Digests) -> tuple[TrainingCorpus, ...]:
    """Every training corpus in each of its directions; replayed text is the last."""
    rows, several = data.training_corpora, bool(data.several_directions)
    parts = data.directed
    replay, old = data.replay_corpus, data.replay_directed
    if replay is not None and old is not None:
        rows, parts = (*rows, replay), (*parts, old)
    return tuple(
        TrainingCorpus(
            _named(rows[part.corpus], part if several else None),
            _pairs(
                rows[part.corpus],
                part,
                "",
                part.stored if several or part.by_column or part is old else language_pair,
                digests,
            ),
            rows[part.corpus].weight,
            part.direction if several else None,
            None if part is not old or data.replay is None else data.replay.share,
        )
        for part in parts
    )


def validation_corpora(data: PairData, digests: Digests) -> tuple[TrainingCorpus, ...]:
    """The validation text of each direction; empty if pairs are held out."""
    return tuple(_further(data, "valid_", digests))


def test_corpora(data: PairData) -> tuple[TrainingCorpus, ...]:
    """The test text of each direction; empty if there is none."""
    return tuple(_further(data, "test_", {}))


def in_direction(name: str, pairs: Sequence[Pair], direction: Direction, *, swapped: bool) -> TrainingCorpus:
    """Pairs that are held in memory, as the corpus of a direction."""
    if swapped:
        pairs = [(right, left) for left, right in pairs]
    return TrainingCorpus(f"{name} ({direction_name(direction)})", lambda: iter(pairs), direction=direction)


def by_direction(corpora: Sequence[TrainingCorpus]) -> dict[Direction, list[int]]:
    """The numbers of the corpora of each direction, in the order of the first of each."""
    found: dict[Direction, list[int]] = {}
    for number, corpus in enumerate(corpora):
        assert corpus.direction is not None, "of several directions"
        found.setdefault(corpus.direction, []).append(number)
    return found


def read_tests(corpora: Sequence[TrainingCorpus]) -> tuple[list[Pair], list[Direction]] | None:
    """The pairs of all test text and the direction of each; None if there is none."""
    pairs: list[Pair] = []
    directions: list[Direction] = []
    for corpus in corpora:
        assert corpus.direction is not None, "of several directions"
        own = list(corpus.pairs())
        if not own:
            raise DataError(f"{corpus.name}: no sentences to test on; give a file that has some, or none")
        pairs += own
        directions += [corpus.direction] * len(own)
    return (pairs, directions) if corpora else None


def _further(data: PairData, prefix: str, digests: Digests) -> Iterator[TrainingCorpus]:
    """The validation or test text of every direction, the text of one direction together."""
    rows = data.corpora or (_only(data),)
    for direction in data.several_directions:
        for part in data.directed:
            row = rows[part.corpus]
            given = getattr(row, f"{prefix}src") is not None or getattr(row, f"{prefix}pairs") is not None
            if part.direction == direction and given:
                name = _named(row, part, prefix)
                yield TrainingCorpus(name, _pairs(row, part, prefix, part.stored, digests), 1.0, direction)


def _only(data: PairData) -> CorpusData:
    """The one corpus of a run, with its validation and test text."""
    names = ("src", "tgt", "pairs", "valid_src", "valid_tgt", "valid_pairs", "test_src", "test_tgt")
    return CorpusData(**{name: getattr(data, name) for name in names}, both=data.both)


def _pairs(
    row: CorpusData, part: Directed, prefix: str, languages: LanguagePair, digests: Digests
) -> Callable[[], Iterator[Pair]]:
    source, target, pairs = (getattr(row, f"{prefix}{name}") for name in ("src", "tgt", "pairs"))

    def read() -> Iterator[Pair]:
        if part.by_column:
            found = read_pairs_of(pairs, languages, row.directions, digests, both=row.both)
        else:
            found = read_pairs(source, target, pairs, languages, digests)
        return ((right, left) for left, right in found) if part.swapped else found

    return read


def _named(row: CorpusData, part: Directed | None, prefix: str = "") -> str:
    """The files of a corpus, and the direction where there are several."""
    source, target, pairs = (getattr(row, f"{prefix}{name}") for name in ("src", "tgt", "pairs"))
    if pairs is None and part is not None and part.swapped:
        source, target = target, source
    files = display_name(pairs) if pairs is not None else f"{display_name(source)} and {display_name(target)}"
    return f"{files} ({direction_name(part.direction)})" if part is not None else files

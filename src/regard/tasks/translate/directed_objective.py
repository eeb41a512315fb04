"""What several directions add to the training of a translator: tags before the sources, shares of an epoch, scores of each."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from regard.data.corpus_config import Direction, direction_name
from regard.data.mixing import CorpusPart
from regard.data.prepare import Prepared
from regard.data.replay import replayed
from regard.data.tagged import TaggedCorpus, tags_of_parts
from regard.data.temperature import balanced, pairs_of_directions
from regard.errors import ConfigError
from regard.tasks.checks import check_positions
from regard.tasks.translate.directions import DirectionConfig, names_of
from regard.tasks.translate.language_check import characters_per_piece

Item = TypeVar("Item")


def directions_of_run(
    prepared: Prepared, parts: Sequence[CorpusPart], base: Sequence[DirectionConfig], judged_lines: int
) -> tuple[DirectionConfig, ...]:
    """The directions of a run; empty for one direction without a base model of several.

    judged_lines: validation lines of each direction from which the length of a piece is measured.
    """
    several = prepared.valid_directions is not None
    if not several and not base:
        return ()
    counts: dict[Direction, int] = {}
    for part in parts:
        direction = part.direction or _only_direction(prepared, base)
        counts[direction] = counts.get(direction, 0) + part.examples
    tags = prepared.tokenizers.source.vocabulary.reserved.languages
    unknown = next((target for _, target in counts if target not in tags), None)
    if unknown is not None:
        raise ConfigError(
            f"train.start: the base model has no tag for {unknown!r}, only for {', '.join(tags) or 'no language'}; "
            "train on languages that it knows, or without train.start"
        )
    found = []
    for direction, pairs in counts.items():
        own = [
            source
            for place, (source, _) in enumerate(prepared.valid_pairs)
            if prepared.valid_directions is None or prepared.valid_directions[place] == direction
        ]
        mean = characters_per_piece(prepared.tokenizers.source, own[:judged_lines])
        found.append(DirectionConfig(source=direction[0], target=direction[1], pairs=pairs, characters_per_piece=mean))
    return tuple(found)


def check_tagged_positions(reach: int | None, max_length: int) -> None:
    """Refuse positions of a base of several directions that end before the longest source with its tag.

    The settings alone do not tell it: text of one direction gets a tag too if the base has several.
    """
    try:
        check_positions(reach, max_length, ["a language tag", "an end mark"])
    except ValueError as error:
        raise ConfigError(f"train.start: the base has several directions: {error}") from None


def _only_direction(prepared: Prepared, base: Sequence[DirectionConfig]) -> Direction:
    """The one direction of a run that starts from a model of several."""
    source, target = prepared.languages
    if source is None or target is None:
        raise ConfigError(
            f"train.start: the base model translates {names_of(one.pair for one in base)}; "
            "say which direction the text has, with data.src_lang and data.tgt_lang (--src-lang, --tgt-lang)"
        )
    return source, target


def tagged(
    prepared: Prepared, parts: Sequence[CorpusPart], directions: Sequence[DirectionConfig]
) -> tuple[TaggedCorpus, TaggedCorpus]:
    """The training and the validation corpus with a tag before each source."""
    tags = prepared.tokenizers.source.vocabulary.reserved.languages
    if prepared.valid_directions is None:
        [only] = directions
        train, valid = (
            np.full(len(corpus), tags[only.target], dtype=np.int64) for corpus in (prepared.train, prepared.valid)
        )
    else:
        train = tags_of_parts(parts, tags)
        valid = np.array([tags[target] for _, target in prepared.valid_directions], dtype=np.int64)
    return TaggedCorpus(prepared.train, train), TaggedCorpus(prepared.valid, valid)


def mixture(parts: Sequence[CorpusPart], temperature: float, share: float | None) -> tuple[CorpusPart, ...]:
    """The parts, balanced by temperature. share: of the last one, which is replayed and has no part in the balance; None: there is none."""
    if share is None:
        return balanced(parts, temperature)
    *new, old = parts
    return replayed((*balanced(new, temperature), old), share)


def note_on(parts: Sequence[CorpusPart], given: Sequence[CorpusPart], temperature: float) -> str:
    """The directions of a run, their pairs and their shares of an epoch. given: the parts before they were balanced."""
    pairs = dict.fromkeys(pairs_of_directions(parts), 0)
    for part in given:
        if part.direction is not None:
            pairs[part.direction] += part.examples
    weighted = pairs_of_directions(parts)
    total = sum(weighted.values())
    facts = [
        f"{direction_name(direction)} {pairs[direction]:,} pairs, {100 * weighted[direction] / total:.1f} %"
        for direction in pairs
    ]
    at = "" if temperature == 1.0 else f" at data.temperature = {temperature:g}"
    return f"{len(pairs)} directions in one model; the share of each in an epoch{at}: {'; '.join(facts)}"


def scores_by_direction(
    directions: Sequence[Direction],
    columns: Sequence[Sequence[str]],
    measure: Callable[..., Mapping[str, float]],
) -> dict[Direction, Mapping[str, float]]:
    """The scores of each direction. columns: lists as long as `directions`, whose parts `measure` takes."""
    found: dict[Direction, Mapping[str, float]] = {}
    for direction in dict.fromkeys(directions):
        places = [place for place, own in enumerate(directions) if own == direction]
        found[direction] = measure(*([column[place] for place in places] for column in columns))
    return found


def mean_scores(by_direction: Mapping[Direction, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each score, and BLEU by direction under names such as `bleu_en-de`."""
    rows = list(by_direction.values())
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    own = {f"bleu_{direction_name(direction)}": row["bleu"] for direction, row in by_direction.items()}
    return means | own


def spread(items: Sequence[Item], directions: Sequence[Direction], count: int) -> list[Item]:
    """The first items of all directions in turn."""
    queues = [
        [item for item, own in zip(items, directions, strict=True) if own == direction]
        for direction in dict.fromkeys(directions)
    ]
    longest = max(map(len, queues), default=0)
    return [queue[place] for place in range(longest) for queue in queues if place < len(queue)][:count]

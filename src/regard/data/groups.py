"""Reads the group of each sentence of a test set, such as the types of COGS, for scores by group."""

from collections.abc import Sequence

from regard.data.readers import display_name, read_all
from regard.data.task_formats import typed_rows
from regard.errors import DataError, shown


def read_groups(path: str, sources: Sequence[str], source_name: str) -> list[str]:
    """The groups: the lines of a text file, or the third column of a `.tsv`, whose first column must be the sources."""
    if path.removesuffix(".gz").endswith(".tsv"):
        rows = list(typed_rows(path))
        for number, ((sentence, _, _), source) in enumerate(zip(rows, sources, strict=False), 1):
            if sentence.split() != source.split():
                raise DataError(
                    f"{display_name(path)}:{number}: {shown(sentence, 40)}, and {source_name}:{number} has {shown(source, 40)}; "
                    "the groups must be those of the same sentences, in their order"
                )
        groups = [group.strip() for _, _, group in rows]
    else:
        groups = [line.strip() for line in read_all(path)]
    if len(groups) != len(sources):
        lines = f"{len(groups):,} line{'s' * (len(groups) != 1)}"
        raise DataError(
            f"{display_name(path)}: {lines}, and {source_name} has {len(sources):,}; give the group of each line, one a line"
        )
    empty = next((number for number, group in enumerate(groups, 1) if not group), None)
    if empty is not None:
        raise DataError(f"{display_name(path)}:{empty}: empty; give the group of every sentence")
    return groups

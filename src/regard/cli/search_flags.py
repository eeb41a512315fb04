"""The flags that say how to search, and what they make: `SearchOptions`. It knows nothing of lines and streams."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.engine.options import SearchOptions

Beam = Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")]
Alpha = Annotated[float, typer.Option(help="Scores are divided by length^alpha.")]
LengthForm = Annotated[str, typer.Option(help="power: |y|^alpha; wu: ((5 + |y|) / 6)^alpha.")]
Coverage = Annotated[float, typer.Option(help="Weight of the penalty for source tokens not looked at; 0: none.")]
Stop = Annotated[str, typer.Option(help="When a beam ends: likely, first (as many toolkits) or safe.")]
Nbest = Annotated[int, typer.Option(help="Print the N best as `line ||| text ||| F0=logprob ||| score`.")]
Groups = Annotated[int, typer.Option(help="Diverse beam: groups that avoid each other's tokens.")]
Diversity = Annotated[float, typer.Option(help="For --groups: what a token of an earlier group costs.")]
Sample = Annotated[bool, typer.Option("--sample", help="Draw from the model instead of searching.")]
Temperature = Annotated[float, typer.Option(help="Of sampling: below 1 sharper, above 1 flatter.")]
TopK = Annotated[int, typer.Option(help="Of sampling: only the k likeliest tokens; 0: all.")]
TopP = Annotated[float, typer.Option(help="Of sampling: only the likeliest tokens that make up p.")]
Seed = Annotated[int, typer.Option(help="Of sampling.")]
Mbr = Annotated[int, typer.Option(metavar="N", help="Of N samples the one most like all of them (chrF); 0: no.")]
Exact = Annotated[bool, typer.Option("--exact", help="The most probable output of all; reports on stderr.")]
NodeLimit = Annotated[int, typer.Option(help="For --exact: partial outputs continued, per line.")]
MinLength = Annotated[int, typer.Option(help="Shortest output in tokens.")]
MaxLength = Annotated[int | None, typer.Option(help="Longest output in tokens.")]
NoRepeat = Annotated[int, typer.Option(metavar="N", help="No N tokens occur twice in the same order; 0: they may.")]
Suppress = Annotated[list[str] | None, typer.Option(metavar="PIECE", help="Never said; may be repeated.")]
WithPrefix = Annotated[
    bool, typer.Option("--with-prefix", help="After a tab, lines hold what the translation begins with.")
]
WithPhrases = Annotated[
    bool, typer.Option("--with-phrases", help="After tabs, lines hold phrases that the translation must contain.")
]


def search_options(*, suppress: list[str] | None, **given: Any) -> "SearchOptions":
    """The options of those names, or a complaint about flags that do not go together."""
    from regard.engine.options import SearchOptions
    from regard.errors import ConfigError
    from regard.search.options import NODE_LIMIT

    drawn = given["temperature"], given["top_k"], given["top_p"]
    if not (given["sample"] or given["mbr"]) and drawn != (1.0, 0, 1.0):
        raise ConfigError("--temperature, --top-k and --top-p are for --sample and --mbr; add one, or leave them out")
    if given["groups"] == 1 and given["diversity"] != 0.5:
        raise ConfigError("--diversity is for --groups; add it, or leave it out")
    if not given["exact"] and given["node_limit"] != NODE_LIMIT:
        raise ConfigError("--node-limit is for --exact; add it, or leave it out")
    return SearchOptions(suppress=tuple(suppress or ()), **given)


def fields(
    lines: list[str], with_prefix: bool, with_phrases: bool
) -> tuple[list[str], list[str] | None, list[list[str]] | None]:
    """What each line holds between tabs, where flags say so: the texts, their prefixes and their phrases."""
    if not (with_prefix or with_phrases):
        return lines, None, None
    rows = [line.split("\t") for line in lines]
    texts = [row.pop(0) for row in rows]
    prefixes = [row.pop(0) if row else "" for row in rows] if with_prefix else None
    return texts, prefixes, [[phrase for phrase in row if phrase] for row in rows] if with_phrases else None

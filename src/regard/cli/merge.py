"""`regard merge`: writes one whole bundle of an adapter and its base."""

from pathlib import Path
from typing import Annotated

import typer


def merge(
    adapter: Annotated[
        Path, typer.Argument(metavar="ADAPTER", help="A run or a bundle with train.lora.merge = false.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The bundle that is written; it must not exist.")],
    base: Annotated[
        Path | None,
        typer.Option(help="The base, a run or a bundle, if it is not where it was when the adapter was trained."),
    ] = None,
) -> None:
    """Write one bundle of an adapter (LoRA) and its base. It needs neither of them any more."""
    from regard.cli.streams import print_status
    from regard.extras import require

    require("torch", "regard merge")
    from regard.interop.merging import merge_adapter

    merge_adapter(adapter, out, base)
    print_status(f"{out}: a whole bundle; try `regard info {out}`")

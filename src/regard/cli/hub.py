"""`regard push` and `regard pull`: bundles on the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer


def push(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    name: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The name of the model on the hub.")],
    private: Annotated[bool, typer.Option("--private", help="Show the model to its owner only, if it is new.")] = False,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of the weights, for the model card, such as apache-2.0.")
    ] = None,
) -> None:
    """Upload a model with its model card to the Hugging Face Hub. The token is that of `hf auth login`, or HF_TOKEN."""
    from regard.cli.streams import print_status
    from regard.interop.card import CardFacts
    from regard.interop.hub import push as pushed

    print_status(pushed(bundle, name, private=private, facts=CardFacts(licence=licence)))


def pull(
    name: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The name of a model of regard on the hub.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The bundle that is written; it must not exist.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit.")] = None,
) -> None:
    """Download a model of regard from the Hugging Face Hub. Every file is checked by the SHA-256 of its manifest."""
    from regard.cli.streams import print_status
    from regard.interop.hub import pull as pulled

    pulled(name, out, revision)
    print_status(f"{out}: a bundle; try `regard info {out}`")

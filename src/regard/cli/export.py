"""`regard export`: writes a trained model in the format of another program."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What is written; it must not exist.")],
    to: Annotated[
        str,
        typer.Option(
            help="hf: Hugging Face's transformers; ct2: CTranslate2; onnx: onnxruntime; argos: Argos Translate and LibreTranslate; "
            "safetensors: the bundle alone; zip: the same in one file."
        ),
    ],
    precision: Annotated[str, typer.Option(help="Weights of ct2 and argos: float32 or int8.")] = "float32",
    src_lang: Annotated[
        str | None, typer.Option(help="Code of the source language, if the model does not know it.")
    ] = None,
    tgt_lang: Annotated[
        str | None, typer.Option(help="Code of the target language, if the model does not know it.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of the weights, for the model card, such as apache-2.0.")
    ] = None,
) -> None:
    """Write a model for another program, with a model card. What the format cannot hold is refused."""
    from regard.cli.streams import print_status
    from regard.interop.card import CardFacts
    from regard.interop.export import export_path

    export_path(bundle, out, to, precision, CardFacts(source=src_lang, target=tgt_lang, licence=licence))
    print_status(f"{out}: {_size(out):,} bytes")


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)

"""`merge_adapter`: writes one whole bundle of an adapter and its base."""

from dataclasses import replace
from pathlib import Path

from regard.bundle.locate import find_bundle
from regard.bundle.opened import parse_bundle
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError
from regard.interop.export import export_model
from regard.tasks.bundles import bundle_classes


def merge_adapter(path: str | Path, out: str | Path, base: str | Path | None = None) -> None:
    """Write the sum of an adapter bundle and its base to `out`, which must not exist.

    base: where the base is, in place of the path that the adapter names. It must be the model that the adapter was trained from.
    """
    given = None if base is None else Path(base)
    opened = parse_bundle(find_bundle(path), bundle_classes(), hashed_when_read=(WEIGHTS,), base=given)
    if opened.base is None:
        raise BundleError(
            f"{path}: no adapter, but a whole bundle; to copy it: regard export {path} OUT --to safetensors"
        )
    export_model(replace(opened, given=Path(path)), Path(out), "safetensors")

"""The Hugging Face Hub: fetches the files of a model that an import reads, and pushes and pulls bundles.

Fetched are weights, configs and tokenizers, never code. What is fetched is as strange as any other directory. The library
`huggingface_hub` does the transfer and knows the user's token; without it, or without a network, one line says what to do.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.manifest import MANIFEST, open_manifest, verify_manifest
from regard.errors import BundleError, ConfigError, DiskError, shown
from regard.extras import require
from regard.files import cache_directory, disk_errors, refuse_taken, scratch_directory, whole_directory
from regard.interop.card import CARD, CardFacts
from regard.interop.export import ExportOptions, export_model
from regard.tasks.load import open_given

_NAME = re.compile(r"[\w-][\w.-]{0,95}/[\w.-]{1,96}", re.ASCII)
_FILES = (
    *("config.json", "generation_config.json", "preprocessor_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt"),
    *("source.spm", "target.spm", "target_vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"),
)
"""The files of a model of another program that an import reads, beside its weights."""
_SAFE = re.compile(r"model(-\d{5}-of-\d{5})?\.safetensors|model\.safetensors\.index\.json")
_WHOLE = "model.safetensors"
_PICKLED = re.compile(r"pytorch_model(-\d{5}-of-\d{5})?\.bin|pytorch_model\.bin\.index\.json")
_RETRY_SECONDS = 10
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)
"""Errors of the hub's cache, not of the network."""


def is_hub_name(name: str) -> bool:
    """Whether a text has the form of a model's name on the hub: OWNER/NAME."""
    return _NAME.fullmatch(name) is not None and ".." not in name and not name.endswith((".git", "."))


@contextmanager
def fetched_model(name: str, out: Path, revision: str | None = None) -> Iterator[Path]:
    """A directory beside `out` with the files of a model that an import reads. `.bin` files only where there is no safetensors."""
    hub = _library(f"{name}: no such directory, and the hub")
    with _transfer(name, "fetch"), activity(f"fetching {name}"):
        api = hub.HfApi()
        info = api.model_info(name, revision=revision, timeout=_RETRY_SECONDS)
        present = [file.rfilename for file in info.siblings or ()]
        safe = [file for file in present if _SAFE.fullmatch(file)]
        weights = [_WHOLE] if _WHOLE in safe else safe or [file for file in present if _PICKLED.fullmatch(file)]
        wanted = [*weights, *(file for file in _FILES if file in present)]
        if MANIFEST in present:
            raise BundleError(f"{name}: a bundle of regard already; get it with `regard pull {name} OUT`")
        if not weights or "config.json" not in wanted:
            missing = "weights (model.safetensors)" if not weights else "config.json"
            raise BundleError(f"{name}: no {missing} on the hub; only models of transformers' formats are imported")
        snapshot = hub.snapshot_download(name, revision=info.sha, allow_patterns=wanted, etag_timeout=_RETRY_SECONDS)
    with scratch_directory(out) as scratch:
        _put(Path(snapshot), wanted, scratch, linked=True)
        yield scratch


def push(path: str | Path, name: str, *, private: bool = False, facts: CardFacts | None = None) -> str:
    """Upload the bundle at `path`, or the best one of a run, with its card to the hub as `name`; returns its address."""
    _check_name(name)
    bundle, hub = open_given(path), _library(f"{name}: the hub")
    with scratch_directory(cache_directory() / "push") as scratch:  # the model's own place may be read-only
        export_model(bundle, scratch / "bundle", "safetensors", ExportOptions(facts=facts or CardFacts()))
        with _transfer(name, "push"), activity(f"pushing {name}"):
            api = hub.HfApi()
            address = api.create_repo(name, repo_type="model", private=private or None, exist_ok=True)
            api.upload_folder(repo_id=name, folder_path=str(scratch / "bundle"), commit_message="A bundle of regard")
    return str(address)


def pull(name: str, out: str | Path, revision: str | None = None) -> None:
    """Download the bundle `name` of the hub to `out`, which must not exist. Its manifest decides which files, and their SHA-256s."""
    place = Path(out)
    _check_name(name)
    refuse_taken(place)
    hub = _library(f"{name}: the hub")
    with _transfer(name, "pull"), activity(f"pulling {name}"):
        info = hub.HfApi().model_info(name, revision=revision, timeout=_RETRY_SECONDS)
        present = {file.rfilename for file in info.siblings or ()}
        if MANIFEST not in present:
            raise BundleError(
                f"{name}: no {MANIFEST} on the hub, so it is no bundle of regard; use `regard import {name} OUT`"
            )
        manifest = Path(hub.hf_hub_download(name, MANIFEST, revision=info.sha, etag_timeout=_RETRY_SECONDS))
        with scratch_directory(place) as scratch:
            shutil.copyfile(manifest, scratch / MANIFEST)
            listed = [*open_manifest(scratch).digests]
        wanted = [MANIFEST, *(file for file in (*listed, CARD) if file in present)]
        snapshot = hub.snapshot_download(name, revision=info.sha, allow_patterns=wanted, etag_timeout=_RETRY_SECONDS)
    with whole_directory(place) as staging:
        _put(Path(snapshot), wanted, staging, linked=False)
        try:
            verify_manifest(staging)
        except BundleError as error:
            raise BundleError(str(error).replace(str(staging), name)) from None


def _check_name(name: str) -> None:
    if not is_hub_name(name):
        raise ConfigError(f"{name!r}: not the name of a model on the hub; write OWNER/NAME")


def _library(what: str) -> Any:
    require("huggingface_hub", what)
    import huggingface_hub

    return huggingface_hub


def _put(source: Path, names: Sequence[str], directory: Path, *, linked: bool) -> None:
    """Put files of the hub's cache, which has links, into a directory as plain files.

    linked: share the bytes with the cache where that is possible. Who writes to such a file changes the cache.
    """
    with disk_errors(directory):
        for name in names:
            place = directory / name
            place.parent.mkdir(parents=True, exist_ok=True)
            whole = (source / name).resolve()
            if linked:
                with suppress(OSError):
                    os.link(whole, place)
                    continue
            shutil.copyfile(whole, place)


@contextmanager
def _transfer(name: str, verb: str) -> Iterator[None]:
    """Turn what the library raises into one line: no network, no such model, no access. It shows no bars of its own."""
    from huggingface_hub import constants, errors, utils

    absent = "no such directory, and " if verb == "fetch" else ""
    bars: Any = utils
    transport: type[Exception] = getattr(errors, "HTTPError", OSError)
    shows_bars = not bars.are_progress_bars_disabled()
    try:
        if shows_bars:
            bars.disable_progress_bars()
        yield
    except (BundleError, DiskError):
        raise
    except errors.GatedRepoError:
        raise BundleError(
            f"{name}: its owner asks for an agreement; accept it on the model's page of the hub, then log in (hf auth login)"
        ) from None
    except errors.RevisionNotFoundError:
        raise BundleError(f"{name}: no such revision on the hub; name a branch, tag or commit of it") from None
    except errors.RepositoryNotFoundError:
        raise BundleError(
            f"{name}: {absent}no such model on the hub that you may see; check the name, or log in (hf auth login)"
        ) from None
    except errors.LocalTokenNotFoundError:
        raise BundleError(f"{name}: not logged in; run `hf auth login`, or set HF_TOKEN, to {verb}") from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        if status in (401, 403):
            raise BundleError(
                f"{name}: not permitted (status {status}); log in with a token that may {verb} (hf auth login)"
            ) from None
        raise BundleError(f"{name}: the hub answered with status {status}; try again later") from None
    except errors.HFValidationError as error:
        raise ConfigError(f"{name}: {str(error).splitlines()[0]}") from None
    except (OSError, transport) as error:
        if isinstance(error, OSError) and error.errno in _DISK:
            with disk_errors(Path(str(error.filename or constants.HF_HUB_CACHE))):
                raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        otherwise = ", or download the model elsewhere and give its directory" if verb == "fetch" else ""
        raise BundleError(
            f"{name}: {absent}the hub cannot be reached ({shown(reason, 100)}); check the network{otherwise}"
        ) from None
    finally:
        if shows_bars:
            bars.enable_progress_bars()

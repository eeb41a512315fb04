"""`regard resume`: goes on with an interrupted run, from the settings that it keeps."""

import warnings
from pathlib import Path
from typing import Annotated

import typer


def resume(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="The run: what was --out of `regard train`.")],
) -> None:
    """Go on with an interrupted run at its last checkpoint. It needs no settings; extensions are named again with --extension."""
    from regard.cli.streams import print_status
    from regard.cli.train import train_with_progress
    from regard.extensions import require_extensions
    from regard.settings import read_json
    from regard.tasks.runs import CONFIG, is_done, run_state
    from regard.tasks.settings import read_settings

    _refuse_others(run)
    if is_done(run):
        score = run_state(run).score_text
        print_status(
            f"{run}: this run is finished{'' if score is None else f' ({score})'}; there is nothing to go on with"
        )
        return
    path = run / CONFIG
    with warnings.catch_warnings():  # of a changed extension, which training refuses
        warnings.simplefilter("ignore")
        require_extensions(read_json(path).get("extensions"), str(path))
    if run_state(run).saved_step is None:
        print_status(f"{run}: nothing was saved yet; the run begins again at step 0")
    train_with_progress(read_settings(path), run, str(path))


def _refuse_others(path: Path) -> None:
    """Refuse what is not a run, and say what it is."""
    from regard.bundle.manifest import MANIFEST
    from regard.errors import DataError
    from regard.tasks.runs import SWEEP, is_run, runs_in

    if not path.is_dir():
        what = "a file, not a directory" if path.exists() else "no such directory"
        raise DataError(f"{path}: {what}; give the directory of a run, which was --out of `regard train`")
    if is_run(path):
        return
    if (path / MANIFEST).exists():
        raise DataError(
            f"{path}: a bundle, not a run; give the run's directory, or train it further with --start {path}"
        )
    if (path / SWEEP).exists():
        raise DataError(f"{path}: a sweep; run the same `regard sweep` command again, or name one of its cells")
    if runs := runs_in(path):
        raise DataError(f"{path}: not a run, but it holds some; give one of them, such as {runs[0]}")
    raise DataError(f"{path}: not a run, it has no config.json; give what was --out of `regard train`")

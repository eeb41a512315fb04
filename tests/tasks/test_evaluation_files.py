"""Which flags of `regard evaluate` a task needs: its own statement, also of an extension's task."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.errors import BundleError, ConfigError
from regard.tasks.evaluation_files import check_files
from regard.tasks.interface import EvaluationFiles
from regard.tasks.table import TASKS

NONE = dict.fromkeys(("src", "ref", "text", "data", "images", "captions", "series"))
GIVE = (
    "give --src F --ref F for a translator, --text F for a language model, --data F for a classifier, "
    "--images F for a classifier of pictures, --captions F for a captioner, --series F for a forecaster, "
    "or --text F for a pretrained model"
)


def bundle(task: str) -> SimpleNamespace:
    return SimpleNamespace(config=SimpleNamespace(task=task), directory=Path("run"))


def check(task: str, *flags: str) -> None:
    check_files(bundle(task), NONE | dict.fromkeys(flags, "file"))


@pytest.mark.parametrize("task", ["translate", "generate", "classify"])
@pytest.mark.parametrize("flags", [(), ("src",), ("ref",), ("src", "text"), ("src", "ref", "data"), ("text", "data")])
def test_flags_that_fit_no_task_are_refused_with_all_that_do(task: str, flags: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as error:
        check(task, *flags)
    if task == "translate" and len(flags) == 1:  # one of its own two
        other = {"src": "--ref", "ref": "--src"}[flags[0]]
        assert str(error.value) == f"{other} is missing: a translator is evaluated by --src F --ref F"
    else:
        assert str(error.value) == GIVE


@pytest.mark.parametrize("task", ["translate", "generate", "classify"])
def test_flags_of_another_task_name_it(task: str) -> None:
    for other, flags in (("translate", ("src", "ref")), ("generate", ("text",)), ("classify", ("data",))):
        if other == task:
            check(task, *flags)
        else:
            with pytest.raises(BundleError, match=f"run: its task is to {task}, not to {other}; use `regard {task}`"):
                check(task, *flags)


def test_the_folder_of_captioned_pictures_may_be_given() -> None:
    check("caption", "captions")
    check("caption", "captions", "images")
    with pytest.raises(BundleError, match="its task is to caption, not to classify_images; use `regard caption`"):
        check("caption", "images")


def test_a_task_of_an_extension_states_its_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = SimpleNamespace(name="toy", advice="play", evaluation_files=EvaluationFiles(("data", "text"), "a toy"))
    monkeypatch.setitem(TASKS, "toy", toy)
    check("toy", "data", "text")
    check("classify", "data")
    with pytest.raises(ConfigError, match="--text F for a pretrained model, or --data F --text F for a toy"):
        check("toy")
    with pytest.raises(BundleError, match="its task is to toy, not to classify; play"):
        check("toy", "data")
    monkeypatch.setitem(TASKS, "toy", SimpleNamespace(name="toy", advice="play"))
    check("toy")  # it states none: its own `test_set` checks the flags

"""What may happen to a run from outside, and what it loses by it: nothing. Kills, damage, and what is kept."""

import json
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.bundle.describe import describe
from regard.bundle.locate import write_pointer
from regard.bundle.opened import FOR_RESUMING
from regard.errors import BundleError, TrainError
from regard.tasks.bundles import bundle_classes
from regard.tasks.load import load_served
from regard.training.checkpoint import checkpoint_name, newest_valid, prune
from regard.training.events import Event, Saved, Validated
from training.runs import (
    EVERYTHING,
    Child,
    TokenIds,
    Undisturbed,
    assert_same_run,
    die,
    kept,
    logged,
    looked_up,
    on_file_calls,
    on_step,
    pointed,
    run,
    started,
    steps,
)

Start = Callable[[Callable[[], object]], Child]

FILES = [
    "config.json",
    "joint.spm",
    "manifest.json",
    "model.safetensors",
    "optimiser.safetensors",
    "state.json",
    "tokenizer.json",
]


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 1 << 3
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, EVERYTHING], ids=["plain", "everything"])
def test_killed_at_random_steps(
    undisturbed: Undisturbed, tmp_path: Path, start: Start, changes: dict[str, Any]
) -> None:
    """Every loss, norm, rate, token id, weight and tensor of the optimiser is that of the run that nobody killed."""
    longer = {"max_steps": 18, "validate_every": 10, "save_every": 4, **changes}
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 (shown where the test fails)
    victims = sorted(random.Random(seed).sample(range(1, 18), 3))

    def train(out: str, ids: str, last: int) -> Child:
        def body() -> None:
            with TokenIds(tmp_path / ids) as recorder:
                run(undisturbed.settings, tmp_path / out, recorder, on_step(last, die), **longer)

        return start(body)

    straight = undisturbed.run(**longer)
    assert train("watched", "ids", 0).wait() == 0
    assert_same_run(tmp_path / "watched", straight)
    for step in victims:
        assert train("run", f"ids-{step}", step).wait() == -signal.SIGKILL
    assert train("run", "ids-last", 0).wait() == 0
    assert_same_run(tmp_path / "run", straight)
    seen = looked_up([tmp_path / "ids"])
    assert len(set.union(*seen.values())) == len(seen) == 18  # no two steps see the same
    assert looked_up(tmp_path.glob("ids*")) == seen


@pytest.mark.slow
def test_killed_at_every_point_of_a_save(undisturbed: Undisturbed, tmp_path: Path, start: Start) -> None:
    """Between all writes, syncs, renames, pointers and deletions of a save that a validation made the best."""
    changes = {**EVERYTHING, "max_steps": 3, "validate_every": 2, "save_every": 1, "keep": 1}
    before = undisturbed.copy_stopped(tmp_path / "before", 2, **changes)
    assert kept(before) == ["step-00000001"]
    straight, trace = undisturbed.run(**changes), tmp_path / "trace"

    def save(out: Path, deadly: int | None) -> None:
        """Go on to the save of step 2 and die before its nth call; or write down all of them."""
        calls: list[str] = []
        saving = False

        def count(call: str, path: str) -> None:
            if saving:
                calls.append(f"{call} {path}")
                if len(calls) == deadly:
                    die()

        def listen(event: Event) -> None:
            nonlocal saving
            saving = isinstance(event, Validated)
            if isinstance(event, Saved):
                trace.write_text("\n".join(calls), encoding="utf-8")
                die()

        on_file_calls(out, count)
        run(undisturbed.settings, out, listen, **changes)

    def killed(deadly: int | None) -> Path:
        out = tmp_path / f"run-{deadly}"
        shutil.copytree(before, out)
        assert start(lambda: save(out, deadly)).wait() == -signal.SIGKILL
        return out

    killed(None)
    calls = trace.read_text(encoding="utf-8").splitlines()
    renamed = [call.split("/")[-1].split(".")[0] for call in calls if call.startswith("os.rename")]
    assert renamed[-4:] == ["step-00000002", "latest", "best", "step-00000001"]  # the last one to be deleted
    deleted = [call for call in calls if call.startswith("os.remove ") and "/" not in call]  # inside of the checkpoint
    assert len(deleted) == len(FILES)
    appears = 1 + calls.index(f"os.rename {tmp_path / 'run-None' / checkpoint_name(2)}")
    kinds = [call.split()[0] for call in calls]
    for deadly, around in enumerate(zip([*kinds[1:], ""], kinds, ["", *kinds], strict=False), 1):
        if len(set(around)) == 1:  # in the middle of many syncs or deletions: a kill leaves nothing new to see
            continue
        out, survivor = killed(deadly), 1 if deadly <= appears else 2
        assert newest_valid(out) == (checkpoint_name(survivor), [])
        assert load_served(out).translate(["ab"], beam=1)
        _, events = run(undisturbed.settings, out, **changes)
        assert events[0].step == survivor
        assert_same_run(out, straight)


@pytest.mark.parametrize("how", ["truncated", "flipped", "deleted"])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_named_and_the_checkpoint_before_is_used(
    undisturbed: Undisturbed, tmp_path: Path, name: str, how: str
) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    newest = out / checkpoint_name(6)
    assert sorted(path.name for path in newest.iterdir()) == FILES
    damage(newest / name, how)
    complaints = []
    if how == "deleted" and name in FOR_RESUMING:  # a model can be used without them
        assert load_served(newest).translate(["ab"], beam=1)
        assert describe(newest, bundle_classes())["problems"] == []
    else:
        with pytest.raises(BundleError) as raised:
            load_served(newest)
        complaints.append(str(raised.value))
    again = started(undisturbed.settings, out)
    assert again.step == 5
    for message in (*complaints, *again.notes):
        assert message.startswith(f"{newest / name}: ")
        assert "\n" not in message
    assert len(again.notes) == 1


def test_a_model_without_its_optimiser_is_used_and_trained_further_but_not_resumed(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """As one would send it to a colleague: only the best checkpoint, and of that only the model."""
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    sent = tmp_path / "sent"
    shutil.copytree(out / checkpoint_name(6), sent)
    expected = load_served(sent).translate(["ab cd"], beam=2)
    for name in FOR_RESUMING:
        (sent / name).unlink()
    assert load_served(sent).translate(["ab cd"], beam=2) == expected
    told = describe(sent, bundle_classes())
    assert told["problems"] == []
    assert {file["name"] for file in told["files"] if file["state"] == "missing"} == set(FOR_RESUMING)
    further = {"data": undisturbed.settings["data"], "train": undisturbed.settings["train"]}
    result, _ = run(further, tmp_path / "further", start=str(sent), max_steps=2)
    assert result.metrics is not None
    for path in (out / "checkpoints").iterdir():
        damage(path / "optimiser.safetensors", "deleted")
    with pytest.raises(TrainError, match=r"optimiser\.safetensors: missing.*with --start to train"):
        run(undisturbed.settings, out)


def test_a_run_with_damage_ends_as_one_without(undisturbed: Undisturbed, tmp_path: Path) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    damage(out / checkpoint_name(6) / "optimiser.safetensors", "flipped")
    run(undisturbed.settings, out)
    assert_same_run(out, undisturbed.run())


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_best_is_named_when_it_is_loaded(undisturbed: Undisturbed, tmp_path: Path, name: str) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    assert pointed(out, "best") == checkpoint_name(5)
    damage(out / checkpoint_name(5) / name, "flipped")
    with pytest.raises(BundleError, match=f"{checkpoint_name(5)}/{name}: "):
        load_served(out)


def test_a_damaged_best_is_replaced(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """The note names it; what the run keeps instead can be loaded at once, and the next validation chooses."""
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    damage(out / checkpoint_name(5) / "model.safetensors", "truncated")
    for _ in range(2):  # interrupted again before that validation, it is not forgotten
        again = started(undisturbed.settings, out)
        assert again.step == 6
        assert "best so far" in again.notes[0]
        assert f"{checkpoint_name(5)}/model.safetensors" in again.notes[0]
        assert pointed(out, "best") == checkpoint_name(6)
        assert load_served(out).translate(["ab"], beam=1)
    result, events = run(undisturbed.settings, out)
    assert next(event.best for event in events if isinstance(event, Validated))
    assert result.metrics is not None
    assert steps(out) == steps(undisturbed.run())


def test_damage_back_to_before_the_first_validation(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """There was no best then, so there is none now, until there is one again."""
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    for step in (5, 6):
        damage(out / checkpoint_name(step) / "state.json", "deleted")
    again = started(undisturbed.settings, out)
    assert (again.step, len(again.notes)) == (3, 2)
    assert not (out / "best").exists()
    assert load_served(out).translate(["ab"], beam=1)
    run(undisturbed.settings, out)
    assert_same_run(out, undisturbed.run())


def test_no_usable_checkpoint_is_not_a_fresh_start(undisturbed: Undisturbed, tmp_path: Path) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    for name in kept(out):
        damage(out / "checkpoints" / name / "state.json", "truncated")
    before = (out / "log.jsonl").read_bytes()
    with pytest.raises(TrainError, match="no checkpoint can be resumed"):
        run(undisturbed.settings, out)
    assert (out / "log.jsonl").read_bytes() == before
    assert kept(out) == [f"step-0000000{step}" for step in (3, 5, 6)]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"checkpoints/step-00000099\n", b"../run\n", None])
@pytest.mark.parametrize("pointer", ["best", "latest"])
def test_a_damaged_pointer_is_set_again(
    undisturbed: Undisturbed, tmp_path: Path, pointer: str, content: bytes | None
) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    if content is None:
        (out / pointer).unlink()
    else:
        (out / pointer).write_bytes(content)
    again = started(undisturbed.settings, out)
    assert (again.step, again.notes) == (6, ())
    assert (pointed(out, "best"), pointed(out, "latest")) == (checkpoint_name(5), checkpoint_name(6))
    assert kept(out) == [f"step-0000000{step}" for step in (3, 5, 6)]


def test_a_best_that_vanishes_while_the_run_goes_on(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Until the next one is found, nothing is deleted: nobody can tell which checkpoint is the best."""
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    seen: list[list[str]] = []

    def look(event: Event) -> None:
        if isinstance(event, Saved):
            seen.append(kept(out))

    run(undisturbed.settings, out, on_step(7, lambda: shutil.rmtree(out / checkpoint_name(5))), look)
    assert seen[0] == [f"step-0000000{step}" for step in (3, 6, 9)]
    assert_same_run(out, undisturbed.run())


@pytest.mark.parametrize(
    "damage",
    [
        b'{"event": "step", "step": 7, "lo',
        b'\x00\xff\xfe garbage\n\n[1]\nnull\n"step"\n{"step": "x"}\n{"step": 1e999}\n{"step": -1e999}\n'
        + b"[" * 100_000,
    ],
    ids=["half a line", "garbage"],
)
def test_a_damaged_log_does_not_stop_a_run(undisturbed: Undisturbed, tmp_path: Path, damage: bytes) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    with (out / "log.jsonl").open("ab") as log:
        log.write(damage)
    run(undisturbed.settings, out)
    assert_same_run(out, undisturbed.run())


def test_a_log_without_its_last_line_break(undisturbed: Undisturbed, tmp_path: Path) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    cut = next(number for number, line in enumerate(lines) if json.loads(line)["step"] == 7)
    (out / "log.jsonl").write_text("\n".join(lines[:cut]), encoding="utf-8")
    run(undisturbed.settings, out)
    assert_same_run(out, undisturbed.run())


def test_a_lost_log(undisturbed: Undisturbed, tmp_path: Path) -> None:
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    (out / "log.jsonl").write_bytes(b"\x00" * 1000)
    run(undisturbed.settings, out)
    assert steps(out) == steps(undisturbed.run())[6:]
    assert [record["step"] for record in logged(out, "started")] == [6]


def test_retention(tmp_path: Path) -> None:
    """The newest two that are regular, the best and the latest; what came after the latest is not judged."""
    for step in (2, 4, 6, 7, 8, 9, 10, 12):
        (tmp_path / checkpoint_name(step)).mkdir(parents=True)
    write_pointer(tmp_path, "best", checkpoint_name(4))
    write_pointer(tmp_path, "latest", checkpoint_name(9))
    prune(tmp_path, keep=2, save_every=2)
    assert kept(tmp_path) == [f"step-{step:08d}" for step in (4, 6, 8, 9, 10, 12)]
    (tmp_path / "best").write_text("checkpoints/step-00000005\n", encoding="utf-8")
    prune(tmp_path, keep=1, save_every=2)
    assert len(kept(tmp_path)) == 6
    (tmp_path / "best").unlink()
    prune(tmp_path, keep=1, save_every=2)
    assert kept(tmp_path) == [f"step-{step:08d}" for step in (8, 9, 10, 12)]


@pytest.mark.parametrize("keep", [1, 2])
def test_the_only_valid_checkpoint_is_never_deleted(
    undisturbed: Undisturbed, tmp_path: Path, start: Start, keep: int
) -> None:
    """All but the oldest are damaged. From then on, before every write, rename and deletion, some checkpoint is valid."""
    changes = {"keep": keep, "validate_every": 100, "save_every": 2}
    out = undisturbed.copy_stopped(tmp_path / "run", 11, **{**changes, "keep": 5})
    assert kept(out) == [f"step-{step:08d}" for step in (2, 4, 6, 8, 10)]
    for name in kept(out)[1:]:
        damage(out / "checkpoints" / name / "model.safetensors", "flipped")
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    config["train"]["keep"] = keep
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    valid: list[str | None] = []

    def train() -> None:
        on_file_calls(out / "checkpoints", lambda call, path: valid.append(newest_valid(out)[0]))
        _, events = run(undisturbed.settings, out, **changes)
        assert events[0].step == 2
        assert len(valid) > 100
        assert None not in valid

    child = start(train)
    assert child.wait() == 0, child.said()
    assert_same_run(out, undisturbed.run(**changes))


def test_an_average_goes_without_a_damaged_checkpoint(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """It is tried at the very end, and must not keep a run from ending."""
    changes = {"average": 3, "keep": 3}
    out = undisturbed.copy_stopped(tmp_path / "run", 10, **changes)
    damage(out / checkpoint_name(6) / "model.safetensors", "flipped")
    with pytest.warns(UserWarning, match=r"step-00000006/model\.safetensors: .* the average is made without it"):
        result, _ = run(undisturbed.settings, out, **changes)
    assert result.metrics is not None

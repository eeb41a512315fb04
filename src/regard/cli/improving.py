"""Carries out the plan of `regard improve`, stage by stage in this process.

A stage that is done is skipped, and one that was interrupted goes on: training from its checkpoint, translating from its last line
(`resumable.py`). Everything else is quick and written whole.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from regard.bundle.locate import LOCK
from regard.data.inputs import digest_of
from regard.errors import ConfigError, DataError
from regard.files import STAGING_MARK, disk_errors, to_json, to_json_line, write_whole
from regard.settings import merged, override, read_json
from regard.tasks.fine_tuning import run_settings
from regard.tasks.improve.arguments import ImproveArguments, JudgingArguments, changed_arguments, stored_arguments
from regard.tasks.improve.base_run import BaseRun, check_reverse, read_base_run
from regard.tasks.improve.gain import (
    BASELINE,
    HeldOut,
    Improvement,
    ImproveRecord,
    check_judging,
    digest_of_texts,
    held_out_texts,
    is_judged,
    judge,
    other_pairs,
    read_record,
)
from regard.tasks.improve.monolingual import SAMPLE, check_language, read_sentences
from regard.tasks.improve.plan import (
    JUDGED,
    RESULT,
    REVERSE,
    SUMMARY,
    TEXT,
    TRANSLATIONS,
    Facts,
    JudgeStage,
    Stage,
    State,
    TextStage,
    TrainStage,
    TranslateStage,
    plan,
    state_of,
)
from regard.tasks.improve.run_settings import refuse_own_settings, refuse_training_back, settings_of
from regard.tasks.improve.texts import Monolingual, inputs_of, refuse_learned_text, write_texts
from regard.tasks.improve.translations import counts_line, filter_translations

PLAN, TIMES, FORMAT = "plan.json", "times.jsonl", 1
Trainer = Callable[[dict[str, Any], Path, str], None]
"""Trains settings into a directory, or goes on there. An interruption is raised. The text: where the settings come from."""


@dataclass(frozen=True)
class Improver:
    """A checked call of `regard improve`."""

    base: BaseRun
    arguments: ImproveArguments
    judging: JudgingArguments
    out: Path
    mono: Monolingual
    stored: Mapping[str, Any]
    """The arguments as plan.json has them."""
    stages: tuple[Stage, ...]

    def states(self) -> list[State]:
        """How far each stage has come."""
        return [self._state(stage) for stage in self.stages]

    def _state(self, stage: Stage) -> State:
        """How far a stage has come. A comparison of other models than those of the plan is made again."""
        state = state_of(stage, self.out)
        if isinstance(stage, JudgeStage) and state == "done":
            record = read_record(self.out)
            systems = [one.system for one in record.texts[0].systems] if record is not None else []
            return "done" if systems == [BASELINE, *stage.models] else "left"
        return state

    def run(self, train: Trainer, tell: Callable[[str], None]) -> Improvement:
        """Carry out what is left of the plan. tell: takes lines on what is done."""
        from regard.training.run import claimed

        with claimed(self.out):
            self.refuse_changes()
            write_whole(self.out / PLAN, to_json({"format": FORMAT, "run": str(self.base.path), **self.stored}))
            improvement: Improvement | None = None
            for number, stage in enumerate(self.stages, 1):
                name = f"stage {number} of {len(self.stages)}: {self.out / stage.place}"
                if isinstance(stage, JudgeStage):
                    tell(f"{name}: {stage.doing}")
                    improvement = self._judge(stage)
                elif state_of(stage, self.out) == "done":
                    tell(f"{name}: finished before")
                else:
                    tell(f"{name}: {stage.doing}")
                    with _timed(self.out, stage.place):
                        self._carry_out(stage, train, tell)
            assert improvement is not None, "the last stage compares"
            return improvement

    def refuse_changes(self) -> None:
        """Refuse other arguments than those that the directory was begun with, and a directory of something else."""
        path = self.out / PLAN
        if not path.exists():
            names = sorted(one.name for one in self.out.iterdir()) if self.out.is_dir() else []
            others = [name for name in names if name != LOCK and STAGING_MARK not in name]
            if others:
                raise ConfigError(f"--out {self.out}: it holds {others[0]}, and no {PLAN}; choose a new directory")
            return
        before = {name: value for name, value in read_json(path).items() if name not in ("format", "run")}
        before["run"] = before.pop("identity", None)
        now = {name: value for name, value in self.stored.items() if name != "identity"}
        now["run"] = self.stored["identity"]
        if changes := changed_arguments(before, now):
            raise ConfigError(
                f"--out {self.out}: begun with other arguments ({'; '.join(changes)}); give the same ones to go on, or another --out"
            )
        refuse_learned_text(self.out / TEXT, _other(self.judging))

    def _carry_out(
        self, stage: TextStage | TrainStage | TranslateStage, train: Trainer, tell: Callable[[str], None]
    ) -> None:
        home = self.out / stage.place
        if isinstance(stage, TextStage):
            other = _other(self.judging)
            write_texts(home, self.base, self.mono, own=self.arguments.translates_own, other=other)
        elif isinstance(stage, TrainStage):
            train(settings_of(stage, self.arguments, self.base, self.out), home, f"the settings of {home}")
        elif isinstance(stage, TranslateStage):
            self._translate(stage)
            tell(f"{home}: {counts_line(filter_translations(stage, self.arguments, self.base.languages, self.out))}")
        else:
            assert_never(stage)

    def _translate(self, stage: TranslateStage) -> None:
        """Write translations.jsonl, or go on with it."""
        import warnings

        from regard.bundle.locate import find_bundle
        from regard.bundle.manifest import identity
        from regard.cli.lines import process_lines
        from regard.cli.translate import TranslateLines, load_translators
        from regard.engine.input_length import TruncationWarning

        written = self.out / stage.place / TRANSLATIONS
        if written.exists():
            return
        bundles = [find_bundle(self.place_of(model)) for model in stage.models]
        options = self.arguments.search(back=stage.direction == "back", seed=stage.seed)
        translator = load_translators(bundles, self.arguments.device)
        processor = TranslateLines(translator, options, False, False, False, as_json=True, with_alignment=False)
        side = "tgt" if stage.direction == "back" else "src"
        settings = {"models": [identity(bundle) for bundle in bundles], "search": repr(options)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)  # reported with the line's number
            processor.check()
            process_lines(processor, str(self.out / TEXT / f"read.{side}"), str(written), settings=settings)

    def place_of(self, model: str) -> Path:
        """The directory of a model of the plan."""
        if not model:
            return self.base.path
        if model == REVERSE and self.arguments.reverse is not None:
            return Path(self.arguments.reverse)
        return self.out / model

    def _judge(self, stage: JudgeStage) -> Improvement:
        valid = self.out / TEXT / "valid.src", self.out / TEXT / "valid.tgt"
        texts: list[HeldOut] = held_out_texts(self.base, self.judging, valid)
        digest, before = digest_of_texts(texts), read_record(self.out)
        if before is not None and is_judged(before, stage.models, self.judging, digest):
            return Improvement(self.out, before)
        systems = {BASELINE: self.base.path, **{model: self.out / model for model in stage.models}}
        with _timed(self.out, JUDGED):
            judged = judge(systems, texts, self.judging, self.out / JUDGED, self.arguments.device)
        minutes = _minutes(self.out)
        translated = [one.place for one in self.stages if isinstance(one, TranslateStage)]
        record = ImproveRecord(
            run=str(self.base.path),
            identity=self.base.identity,
            model=stage.models[-1],
            minutes=minutes,
            total_minutes=round(sum(minutes.values()), 3),
            run_minutes=round(self.base.minutes, 3),
            kept={place: read_json(self.out / place / SUMMARY) for place in translated},
            judging=self.judging,
            texts_digest=digest,
            texts=judged,
        )
        write_whole(self.out / RESULT, to_json(record.model_dump(mode="json")))
        return Improvement(self.out, record)


def improver(run: Path, arguments: ImproveArguments, judging: JudgingArguments, out: Path) -> Improver:
    """A call with all that can be checked before work begins."""
    refuse_own_settings(arguments)
    base = read_base_run(run)
    if out.resolve() == run.resolve() or run.resolve() in out.resolve().parents:
        raise ConfigError(f"--out {out}: that is inside of RUN, which stays as it is; choose a new directory")
    _check_settings(base, arguments)
    check_judging(base, judging)
    digests = {"identity": base.identity}
    if arguments.reverse is not None:
        digests[REVERSE] = check_reverse(Path(arguments.reverse), base)
    texts: list[list[str]] = []
    for side, (path, flag) in enumerate(((arguments.mono_src, "--mono-src"), (arguments.mono_tgt, "--mono-tgt"))):
        sentences = [] if path is None else read_sentences(path, flag)
        if path is not None:
            digests[flag.removeprefix("--").replace("-", "_")] = digest_of(path)
            if arguments.language_check:
                check_language(path, flag, sentences, base.languages[side], _sample(base, side))
        texts.append(sentences)
    mono = Monolingual(*texts)
    facts = Facts(
        steps=base.steps,
        minutes=base.minutes,
        seed=base.settings.train.seed,
        pairs=base.pairs,
        mono_tgt=len(mono.target),
        mono_src=len(mono.source),
        seconds_per_sentence=base.seconds_per_sentence,
    )
    stages = plan(arguments, facts)
    refuse_training_back(base, stages, arguments)
    return Improver(base, arguments, judging, out, mono, stored_arguments(arguments, digests), stages)


def _check_settings(base: BaseRun, arguments: ImproveArguments) -> None:
    """Refuse settings that do not exist or do not fit, before anything is trained."""
    values = base.settings.model_dump(mode="json")
    run_settings(override(values, arguments.sets), "--set")
    if arguments.from_run:
        values = merged(values, {"train": {"start": str(base.path)}})
    run_settings(override(values, (*arguments.sets, *arguments.sets_improved)), "--set")


def _sample(base: BaseRun, side: int) -> Sequence[str]:
    """Sentences of a side of the training text."""
    from itertools import islice

    return [pair[side] for pair in islice(inputs_of(base.settings.data).training(), SAMPLE)]


def _other(judging: JudgingArguments) -> Sequence[tuple[str, str]]:
    if judging.other_src is None or judging.other_ref is None:
        return ()
    return other_pairs(judging.other_src, judging.other_ref)


@contextmanager
def _timed(out: Path, place: str) -> Iterator[None]:
    """Note how long the block takes, also if it is interrupted."""
    began = time.monotonic()
    try:
        yield
    finally:
        line = to_json_line({"stage": place, "seconds": round(time.monotonic() - began, 3)})
        with disk_errors(out / TIMES), (out / TIMES).open("a", encoding="utf-8") as file:
            file.write(line)


def _minutes(out: Path) -> dict[str, float]:
    """Minutes of each stage, of all commands together."""
    from regard.tasks.run_files import read_rows

    minutes: dict[str, float] = {}
    for row in read_rows(out / TIMES):
        if not isinstance(row.get("stage"), str) or not isinstance(row.get("seconds"), int | float):
            raise DataError(f"{out / TIMES}: a line without stage and seconds; delete the file")
        minutes[row["stage"]] = minutes.get(row["stage"], 0.0) + row["seconds"] / 60.0
    return {place: round(value, 3) for place, value in minutes.items()}

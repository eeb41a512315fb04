"""What the improved models are worth: BLEU, chrF and perplexity on held-out texts beside RUN, with the paired bootstrap.

Perplexities can be compared although the models have vocabularies of their own: each is of the references' log-probability divided by the
number of RUN's tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.data.readers import Pair, read_parallel
from regard.errors import ConfigError, DataError
from regard.files import write_whole
from regard.metrics.perplexity import perplexity
from regard.metrics.significance import SEED
from regard.metrics.systems import score_systems
from regard.settings import Record, read_json
from regard.tasks.improve.arguments import JudgingArguments
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.plan import RESULT
from regard.tasks.improve.texts import digest_of_pairs, inputs_of, read_sides
from regard.tasks.load import load_translator

NAMES = ("bleu", "chrf")
BASELINE = "RUN"
SIGNIFICANT = 0.05
FORMAT = 1


@dataclass(frozen=True)
class HeldOut:
    """A text that no model has learned from."""

    name: str
    """validation, other or test."""
    pairs: Sequence[Pair]


class TestRecord(Record):
    """The paired bootstrap of a model against RUN, as `PairedTest.record` writes it."""

    difference: float
    interval: tuple[float, float]
    p_value: float


class ScoreRecord(Record):
    """A score, as `Score.record` writes it."""

    value: float
    interval: tuple[float, float] | None = None
    signature: str | None = None
    against_baseline: TestRecord | None = None


class Judged(Record):
    """A model on a held-out text."""

    system: str
    """RUN, or the place of the improved model."""
    perplexity: float
    bleu: ScoreRecord
    chrf: ScoreRecord


class JudgedText(Record):
    """All models on one held-out text, RUN first."""

    name: str
    """validation, other or test."""
    sentences: int
    systems: tuple[Judged, ...]

    @property
    def gain(self) -> TestRecord:
        """BLEU of the last model beside RUN."""
        test = self.systems[-1].bleu.against_baseline
        assert test is not None, "RUN is the first of several"
        return test

    @property
    def significant(self) -> bool:
        """Whether chance hardly explains the difference."""
        return self.gain.p_value < SIGNIFICANT

    def verdict(self) -> str:
        """The gain of the last model in one line."""
        gain, (low, high) = self.gain, self.gain.interval
        sure = "significant" if self.significant else "may be chance"
        return (
            f"{self.name}: {gain.difference:+.2f} BLEU [{low:+.2f}, {high:+.2f}], p = {gain.p_value:.4f}, {sure}; "
            f"perplexity {self.systems[0].perplexity:.2f} -> {self.systems[-1].perplexity:.2f}"
        )


class ImproveRecord(Record):
    """improve.json."""

    format: int = FORMAT
    run: str
    """The path of RUN."""
    identity: str
    """The SHA-256 of its model's manifest."""
    model: str
    """The place of the improved model."""
    minutes: dict[str, float]
    """Minutes that each stage has taken, all commands together."""
    total_minutes: float
    run_minutes: float
    """Minutes of training of RUN itself."""
    kept: dict[str, dict[str, Any]]
    """The place of each translation -> its counts: sentences, kept, dropped by each filter."""
    judging: JudgingArguments
    texts_digest: str
    """A hash of the held-out texts."""
    resampled_by: int = SEED
    """The seed of the bootstrap."""
    texts: tuple[JudgedText, ...]


@dataclass(frozen=True)
class Improvement:
    """The outcome of `regard improve`."""

    directory: Path
    record: ImproveRecord

    @property
    def model(self) -> Path:
        """The run of the improved model."""
        return self.directory / self.record.model

    @property
    def texts(self) -> tuple[JudgedText, ...]:
        """The held-out texts, validation first."""
        return self.record.texts

    def to_dict(self) -> dict[str, Any]:
        """improve.json."""
        return self.record.model_dump(mode="json")


def held_out_texts(base: BaseRun, judging: JudgingArguments, valid: tuple[Path, Path]) -> list[HeldOut]:
    """The texts to judge on. valid: the files of the validation pairs."""
    texts = [HeldOut("validation", read_sides(*valid))]
    if judging.other_src is not None and judging.other_ref is not None:
        texts.append(HeldOut("other", other_pairs(judging.other_src, judging.other_ref)))
    if judging.test:
        texts.append(HeldOut("test", inputs_of(base.settings.data).test_pairs or ()))
    return texts


def digest_of_texts(texts: Sequence[HeldOut]) -> str:
    """A hash of held-out texts."""
    return digest_of_pairs(pair for text in texts for pair in (("", text.name), *text.pairs))


def other_pairs(source: str, reference: str) -> list[Pair]:
    """The pairs of --other-src and --other-ref; none is refused."""
    sources, references = read_parallel([source, reference])
    if not any(map(str.strip, sources)):
        raise DataError(f"--other-src {source}: no sentences in it; give a text that has some, or leave it out")
    return list(zip(sources, references, strict=True))


def check_judging(base: BaseRun, judging: JudgingArguments) -> None:
    """Refuse what cannot be judged, before anything is trained."""
    if judging.test and inputs_of(base.settings.data).test_pairs is None:
        raise ConfigError(f"--test: the settings of {base.path} name no test text (data.test_src); leave it out")
    if judging.other_src is not None and judging.other_ref is not None:
        other_pairs(judging.other_src, judging.other_ref)


def judge(
    models: Mapping[str, Path], texts: Sequence[HeldOut], judging: JudgingArguments, out: Path, device: str = "cpu"
) -> tuple[JudgedText, ...]:
    """Translate the texts by every model, RUN first, and compare. The translations are kept in `out`."""
    hypotheses: dict[str, list[list[str]]] = {text.name: [] for text in texts}
    losses: dict[str, list[tuple[float, int]]] = {text.name: [] for text in texts}
    for system, path in models.items():
        translator = load_translator(path, device)
        for text in texts:
            sources, references = ([pair[side] for pair in text.pairs] for side in (0, 1))
            with activity(f"translating the {text.name} text"):
                lines = [one.text for one in translator.translate(sources, beam=judging.beam)]
            forced = translator.score(sources, references)
            loss = -sum(one.logprob for one in forced), sum(len(one.token_logprobs) for one in forced)
            hypotheses[text.name].append(lines)
            losses[text.name].append(loss)
            name = f"{text.name}.{system.replace('/', '-')}.txt"
            write_whole(out / name, "".join(f"{line}\n" for line in lines))
    return tuple(compared(text, list(models), hypotheses[text.name], losses[text.name], judging) for text in texts)


def compared(
    text: HeldOut,
    systems: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    losses: Sequence[tuple[float, int]],
    judging: JudgingArguments,
) -> JudgedText:
    """The scores of systems on a text, the first of which is RUN. losses: -log p of the references, and their tokens, for each."""
    references = [reference for _, reference in text.pairs]
    scored = score_systems(hypotheses, [references], NAMES, tokenize=judging.tokenize, resamples=judging.resamples)
    rows = [
        {
            "system": system,
            "perplexity": perplexity(loss, losses[0][1]),
            **{name: score.record() for name, score in scores.items()},
        }
        for system, scores, (loss, _) in zip(systems, scored, losses, strict=True)
    ]
    return JudgedText.parse({"name": text.name, "sentences": len(references), "systems": rows})


def read_record(out: Path) -> ImproveRecord | None:
    """improve.json of a directory; None: there is none."""
    path = out / RESULT
    return ImproveRecord.parse(read_json(path), str(path)) if path.exists() else None


def is_judged(record: ImproveRecord | None, models: Sequence[str], judging: JudgingArguments, digest: str) -> bool:
    """Whether a record is of these models, judged in this way on these texts. digest: of the held-out texts."""
    if record is None:
        return False
    systems = [one.system for one in record.texts[0].systems] if record.texts else []
    return (systems, record.judging, record.texts_digest) == ([BASELINE, *models], judging, digest)

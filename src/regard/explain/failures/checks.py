"""The checks of `regard probe`, by task. A new check is a function in a file here, and its row in this table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import ConfigError, shown
from regard.explain.failures import (
    copying,
    detached,
    dullness,
    exact_words,
    gender,
    lengths,
    memorised,
    out_of_domain,
    rare_words,
    repetition,
    sensitivity,
)
from regard.explain.failures.findings import Finding

NO_SOURCE = "a language model has no source"
WRITES = "it is about what a language model writes"


@dataclass(frozen=True)
class Check:
    """A check: what it does with a subject of each task, or why it does not apply."""

    title: str
    translate: Callable[[Any], Finding] | str
    """A function of a `TranslatorSubject`, or the reason why there is none."""
    generate: Callable[[Any], Finding] | str
    """A function of a `WriterSubject`, or the reason why there is none."""

    def of(self, task: str) -> Callable[[Any], Finding] | str:
        """The function for a task, or the reason why there is none."""
        return self.translate if task == "translate" else self.generate


CHECKS: dict[str, Check] = {
    gender.NAME: Check(gender.TITLE, gender.gender, gender.language_gender),
    copying.NAME: Check(copying.TITLE, copying.copying, NO_SOURCE),
    repetition.NAME: Check(repetition.TITLE, repetition.repetition, repetition.language_repetition),
    detached.NAME: Check(detached.TITLE, detached.hallucination, NO_SOURCE),
    sensitivity.NAME: Check(sensitivity.TITLE, sensitivity.sensitivity, f"{NO_SOURCE}; see perturbed"),
    rare_words.NAME: Check(rare_words.TITLE, rare_words.rare_words, NO_SOURCE),
    exact_words.NAME: Check(exact_words.TITLE, exact_words.numbers_names, NO_SOURCE),
    lengths.NAME: Check(lengths.TITLE, lengths.length, NO_SOURCE),
    out_of_domain.NAME: Check(out_of_domain.TITLE, out_of_domain.out_of_domain, NO_SOURCE),
    memorised.NAME: Check(memorised.TITLE, memorised.memorised, memorised.language_memorised),
    sensitivity.PERTURBED: Check(sensitivity.PERTURBED_TITLE, f"{WRITES}; see sensitivity", sensitivity.perturbed),
    dullness.NAME: Check(dullness.TITLE, WRITES, dullness.dullness),
}
"""Name -> check, in the order of the report."""


def chosen_checks(names: Sequence[str]) -> list[str]:
    """The names in the order of the table; all, if none are given. An unknown name is a `ConfigError`."""
    for name in names:
        if not name:
            raise ConfigError(f"--checks: a name is empty; choose from {', '.join(CHECKS)}, or leave --checks out")
        if name not in CHECKS:
            raise ConfigError(f"--checks {shown(name)}: no such check; choose from {', '.join(CHECKS)}")
    return [name for name in CHECKS if not names or name in names]

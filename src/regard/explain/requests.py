"""What `regard explain` asks of each task: which options it takes, what is refused before the work, and how the answer is written.

A row of `explain.table` has one `Explaining`. The verb knows no task.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, shown

Given = Mapping[str, Any]
"""Name of an option of `regard explain` -> its value, of those that were given."""


def nothing_to_check(model: Any, sentence: str, name: str, given: Given, out: Path | None) -> None:
    """For a task whose explainer refuses everything at once."""


def no_notes(model: Any, explanation: Any) -> list[str]:
    """For a task whose explanations are complete."""
    return []


@dataclass(frozen=True)
class Explaining:
    """How one input of a task is explained. `Model` is what the task serves, `Explanation` what its explainer returns."""

    explain: Callable[..., Any]
    """(model, input, name=.., **keywords) -> Explanation."""
    write: Callable[[Sequence[Any], Path], None]
    """Writes explanations to a file, by its suffix."""
    check_output: Callable[[Path], None]
    """Refuses a file that cannot be written."""
    as_text: Callable[[Any], str]
    """The lines of an Explanation for the terminal."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Option of `regard explain` -> the keyword of the explainer that it becomes."""
    several: bool = True
    """Whether `--beside` shows further models."""
    refusal: str = "{name} does not translate; this option is for translators"
    """Why another option is refused."""
    check: Callable[[Any, str, str, Given, Path | None], None] = nothing_to_check
    """(Model, input, name of the model, keywords, output file): refuses what cannot be explained, before slow work for another model."""
    notes: Callable[[Any, Any], list[str]] = no_notes
    """(Model, Explanation) -> remarks for the user."""

    def keywords(self, given: Given, name: str) -> dict[str, Any]:
        """The keywords of the explainer. An option that it does not take is a `ConfigError`."""
        for option in given:
            if option not in self.options and not (option == "beside" and self.several):
                raise ConfigError(f"--{option}: {self.refusal.format(name=shown(name))}")
        return {self.options[option]: value for option, value in given.items() if option in self.options}

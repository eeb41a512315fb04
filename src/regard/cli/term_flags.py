"""The flags of protected strings and glossaries, `--protect` and `--glossary`, for every command that translates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.tasks.translate.terms.guided import Terms
    from regard.tasks.translate.translator import Translator

Protect = Annotated[
    list[str] | None,
    typer.Option(
        "--protect",
        metavar="REGEX",
        help="Keep what this matches as it is; default: URLs, e-mail, {name}, %s ..; numbers: numbers; may be repeated.",
    ),
]
GlossaryFile = Annotated[
    str | None,
    typer.Option("--glossary", metavar="FILE", help="Terms to obey: term, tab, translation (or several, with |)."),
]


def chosen_terms(protect: list[str] | None, glossary: str | None, translator: "Translator") -> "Terms | None":
    """The terms that the flags ask for; None: none."""
    if not protect and glossary is None:
        return None
    from regard.tasks.translate.terms.glossary import Glossary
    from regard.tasks.translate.terms.guided import Terms
    from regard.text.protected import Protection

    if glossary == "-":
        raise ConfigError("--glossary -: standard input holds the text; give a file")
    languages = translator.languages
    return Terms(
        Protection.of(protect) if protect else None,
        None if glossary is None else Glossary.read(glossary, languages.source, languages.target),
    )


def resume_keys(protect: list[str] | None, glossary: str | None) -> dict[str, Any]:
    """The settings that must be the same to go on with an interrupted file; nothing without the flags, as before there were any."""
    from regard.files import sha256_of

    return {
        **({"protect": list(dict.fromkeys(protect))} if protect else {}),
        **({"glossary": sha256_of(Path(glossary))} if glossary is not None else {}),
    }

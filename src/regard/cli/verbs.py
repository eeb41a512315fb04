"""`VerbApp`: the typer application whose commands have `--debug`, and refuse an option that is given twice but takes one value.

Without the refusal the last value would win and the others would be ignored in silence. It knows no verb.
"""

from collections import Counter
from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

from regard.cli.debug_flag import with_debug
from regard.errors import ConfigError

Verb = TypeVar("Verb", bound=Callable[..., Any])


class VerbCommand(TyperCommand):
    """A command that refuses repeated options. Options of a list, such as `--set`, may be repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(given).items():
            if times > 1 and takes_one_value(parameter):
                raise ConfigError(
                    f"{'/'.join(parameter.opts)} is given {times} times but takes one value; give it once, "
                    "or run the command once for each value"
                )
        for parameter in self.params:
            keep_default(parameter, parameter not in given)
        return super().parse_args(ctx, args)


def takes_one_value(parameter: Any) -> bool:
    """Whether a parameter is an option with a single value. A switch such as `--json` has none."""
    is_option = parameter.param_type_name == "option"
    is_switch = is_option and parameter.is_flag and not parameter.secondary_opts
    return is_option and not (parameter.multiple or parameter.count or is_switch)


def keep_default(parameter: Any, not_given: bool) -> None:
    """Take the default of an option that is not given as it is. typer would build a validator for each, a tenth of a short command."""
    vars(parameter).pop("process_value", None)
    plain = parameter.param_type_name == "option" and parameter.nargs == 1 and not parameter.multiple
    if not_given and plain and not (parameter.required or parameter.callback or parameter.envvar or parameter.prompt):
        parameter.process_value = lambda ctx, value: value


class VerbApp(typer.Typer):
    """A typer application whose commands are `VerbCommand`s with a `--debug` option."""

    def of_verb(self, name: str) -> "VerbApp":
        """The application of this command alone, which starts faster; all commands, where there is none of this name."""
        named = [command for command in self.registered_commands if command.name == name]
        if not named:
            return self
        alone = copy(self)
        alone.registered_commands, alone.registered_groups = named, []
        return alone

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **options: Any
    ) -> Callable[[Verb], Verb]:
        add = super().command(name, cls=cls or VerbCommand, **options)

        def add_with_debug(verb: Verb) -> Verb:
            add(with_debug(verb))
            return verb

        return add_with_debug

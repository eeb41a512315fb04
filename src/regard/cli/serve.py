"""`regard serve`: models behind HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.serve.settings import ServeSettings


def serve(
    bundles: Annotated[list[Path], typer.Argument(metavar="DIR ..", help="Runs or bundles, of any task.")],
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 by default.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 5000 by default, 0 is a free one.")] = None,
    api_keys: Annotated[
        Path | None, typer.Option("--api-keys", metavar="FILE", help="Keys, one a line; without it none is needed.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings in TOML.")] = None,
    cors: Annotated[
        list[str] | None, typer.Option("--cors", metavar="ORIGIN", help="A site whose pages may use the API.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Of CTranslate2's weights: float32, bfloat16, int8 or auto.")
    ] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[fr-en=]FILE", help="Terms of all requests, as of `regard translate`; one for a direction."
        ),
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(metavar="REGEX", help="Keep what this matches, as `regard translate`; may be repeated."),
    ] = None,
    beam: Annotated[int | None, typer.Option(help="The beam of /translate; 5 by default.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, e.g. limits.seconds=10.")
    ] = None,
) -> None:
    """Serve models with LibreTranslate's API until Ctrl-C or SIGTERM. SIGHUP loads them anew."""
    from regard.cli.streams import print_status
    from regard.extras import require

    for module in ("fastapi", "uvicorn", "prometheus_client", "python_multipart"):
        require(module, "regard serve")

    from regard.errors import ConfigError
    from regard.serve.process import listen
    from regard.serve.process import serve as run
    from regard.serve.served_terms import glossary_files
    from regard.serve.service import Service
    from regard.tasks.load import open_given

    flags = {
        "host": host,
        "port": port,
        "api_keys": None if api_keys is None else str(api_keys),
        "cors": cors or None,
        "precision": precision,
        "glossary": glossary_files(glossary) if glossary else None,
        "protect": protect or None,
        "beam": beam,
    }
    settings = serve_settings(config, {name: value for name, value in flags.items() if value is not None}, sets or [])
    for bundle in bundles:
        open_given(bundle)  # a wrong path is refused before the port is taken
    service = Service(settings, bundles)
    try:
        sockets = listen(settings)
    except ConfigError:
        service.close()
        raise
    address = f"http://{settings.host}:{sockets[0].getsockname()[1]}"
    print_status(f"loading {len(bundles)} model{'s' if len(bundles) > 1 else ''}")
    run(service, sockets, lambda: print_status(f"serving on {address}; Ctrl-C ends it"))


def serve_settings(
    config: Path | None, flags: dict[str, Any], sets: list[str], verb: str = "regard serve"
) -> "ServeSettings":
    """The settings of a file, changed by flags and `--set`. verb: of the flags, for messages."""
    from regard.errors import ConfigError
    from regard.serve.settings import ServeSettings
    from regard.settings import override, read_toml

    for assignment in sets:
        key, equals, _ = (part.strip() for part in assignment.partition("="))
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: expected KEY=VALUE, for example --set limits.seconds=10")
        if key in flags:
            flag = f"--{key.replace('_', '-')}{f' {flags[key]}' if isinstance(flags[key], str | int) else ''}"
            raise ConfigError(f"{flag} and --set {assignment}: leave one of them out")
    values = (
        {}
        if config is None
        else read_toml(config, "write the settings that should differ into it: docs/serving.md has them all")
    )
    return ServeSettings.parse(override({**values, **flags}, sets), str(config) if config is not None else verb)

"""`regard studio`: the server, and in a browser the page that shows how models decide."""

from pathlib import Path
from typing import Annotated

import typer


def studio(
    bundles: Annotated[
        list[Path], typer.Argument(metavar="DIR ..", help="Runs or bundles, of any task; two are shown side by side.")
    ],
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 by default.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 5000 by default, 0 is a free one.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the studio in the browser.")] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting of `regard serve`.")
    ] = None,
) -> None:
    """Watch models decide: a translation grows token by token, with every view of `regard explain`, until Ctrl-C.

    The page changes a sentence or silences a head at a click. Everything that `regard serve` serves is served too.
    """
    from urllib.parse import urlencode

    from regard.cli.serve import serve_settings
    from regard.cli.streams import print_status
    from regard.extras import require

    for module in ("torch", "fastapi", "uvicorn", "prometheus_client", "python_multipart"):
        require(module, "regard studio")

    from regard.serve.logs import Log
    from regard.serve.models import names_of
    from regard.serve.process import listen
    from regard.serve.process import serve as run
    from regard.serve.service import Service
    from regard.tasks.load import open_given

    flags = {"host": host, "port": port}
    settings = serve_settings(
        None, {name: value for name, value in flags.items() if value is not None}, sets or [], "regard studio"
    )
    tasks = [open_given(bundle).config.task for bundle in bundles]  # a wrong path is refused before the port is taken
    sockets = listen(settings)
    names = list(names_of(bundles))
    chosen = {"model": names[0], "beside": names[1]} if len(names) > 1 and tasks[0] == tasks[1] else {}
    link = f"#{urlencode(chosen)}" if chosen else ""
    address = f"http://{settings.host}:{sockets[0].getsockname()[1]}/studio{link}"
    print_status(f"loading {len(bundles)} model{'s' if len(bundles) > 1 else ''}")
    service = Service(settings, bundles, Log(lambda line: None))

    def ready() -> None:
        for model in service.models.all():
            getattr(model.served, "network", None)  # loaded now, so that the first view does not wait for torch
        print_status(f"the studio is at {address}; Ctrl-C ends it")
        if open_:
            import webbrowser

            webbrowser.open(address)

    run(service, sockets, ready)

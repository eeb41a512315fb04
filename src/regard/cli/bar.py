"""A progress bar on stderr."""


class Bar:
    """A rich progress bar with a title before it and a text behind it. Lines can be printed above it."""

    def __init__(self, title: str, fraction: float | None, text: str) -> None:
        """The arguments are those of `update`."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._progress = Progress(
            TextColumn("{task.fields[title]}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,  # results go to stdout, never through the bar
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=1.0, title=title)
        self._title = ""
        self.update(title, fraction, text)
        self._progress.start()
        self._progress.console.show_cursor(True)  # a process that is killed would leave the terminal without a cursor

    def update(self, title: str, fraction: float | None, text: str) -> None:
        """Redraw the bar. `fraction`: the share that is done; None if it is unknown."""
        total, done = (None, 0.0) if fraction is None else (1.0, fraction)
        self._progress.update(self._task, total=total, completed=done, title=title, description=text)
        if title != self._title:  # the rest can wait for the next of ten refreshes a second
            self._title = title
            self._progress.refresh()

    def print(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

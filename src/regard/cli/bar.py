"""A progress bar on stderr."""


class Bar:
    """A rich progress bar with a text beside it. Lines can be printed above it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._progress = Progress(
            TextColumn(title),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=1.0)
        self._progress.start()

    def update(self, progress: float | None, text: str) -> None:
        """Redraw the bar. `progress`: the fraction done; None if it is unknown."""
        if progress is None:
            self._progress.update(self._task, total=None, description=text)
        else:
            self._progress.update(self._task, completed=progress, description=text)

    def print(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self._progress.stop()


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

"""The files of a failure analysis: one offline page, or JSON."""

from pathlib import Path

from regard.errors import ConfigError
from regard.explain.document import document, to_json_types
from regard.explain.failures.findings import FailureAnalysis
from regard.files import check_place, to_json_line, write_whole

SCRIPTS = ("dom.js", "format.js", "masthead.js", "failures.js")
SUFFIXES = (".html", ".json")


def write_analysis(analysis: FailureAnalysis, path: str | Path) -> None:
    """Write a page or JSON, depending on the suffix. An existing file is replaced atomically."""
    path = Path(path)
    check_analysis_file(path)
    write_whole(path, render_analysis(analysis) if path.suffix == ".html" else to_json_line(analysis.to_dict()))


def check_analysis_file(path: Path) -> None:
    """Refuse a file with an unsupported suffix, or that cannot be written."""
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"{path}: a failure analysis is written as {' or '.join(SUFFIXES)}; give it such a suffix")
    check_place(path)


def render_analysis(analysis: FailureAnalysis) -> str:
    """The whole page as a string that can be encoded as UTF-8."""
    return document(f"{analysis.model}: failure analysis", to_json_types(analysis.to_dict()), SCRIPTS)

"""Abstracts of SciTLDR: references, baselines worked out by hand, and lines that are not of it."""

import gzip
import json
from pathlib import Path

import pytest

from regard.data.summaries import abstracts, central, lead, oracle, reference, summary_pairs, title
from regard.data.task_formats import TASK_FORMATS
from regard.errors import DataError

ROWS = [
    {
        "source": ["We study cats.", "Cats and dogs\nsleep.", "Dogs sleep and cats sleep."],
        "target": ["We study when dogs sleep.", "On cats."],
        "title": "Sleep",
        "paper_id": "x",
    },
    {"source": ["One sentence."], "target": ["One."], "title": "One"},
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = tmp_path / "dev.jsonl.gz"
    place.write_bytes(gzip.compress("\n\n".join(map(json.dumps, ROWS)).encode()))
    return str(place)


def test_references_and_baselines(path: str) -> None:
    first, second = abstracts(path)
    assert first.text == "We study cats. Cats and dogs sleep. Dogs sleep and cats sleep."
    assert [reference(first, number) for number in range(3)] == ["We study when dogs sleep.", "On cats.", ""]
    assert lead(first) == "We study cats."
    # F1 with each other: 1-2 2/7, 1-3 2/8, 2-3 8/9; so sums 0.54, 1.17, 1.14
    assert central(first) == "Cats and dogs sleep."
    # with "We study when dogs sleep": 4/8, 4/9, 4/10; with "On cats": 2/5, 2/6, 2/7
    assert oracle(first) == "We study cats."
    assert (title(first), central(second)) == ("Sleep", "One sentence.")


def test_the_formats_of_convert(path: str) -> None:
    found = {name: list(TASK_FORMATS[name].read([path])) for name in TASK_FORMATS if name.startswith("scitldr")}
    assert [target for _, target in found["scitldr-2"]] == ["On cats.", ""]
    assert [target for _, target in found["scitldr-5"]] == ["", ""]
    assert found["scitldr-lead"] == list(summary_pairs(lead, [path]))
    assert {source for pairs in found.values() for source, _ in pairs} == {
        abstract.text for abstract in abstracts(path)
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "dev.jsonl:2: not JSON"),
        ("[]", "dev.jsonl:2: no list of texts under 'source'"),
        ('{"source": "a text", "target": ["b"]}', "no list of texts under 'source'"),
        ('{"source": ["a"], "target": [" "]}', "no list of texts under 'target'"),
        ('{"source": ["a", 1], "target": ["b"]}', "no list of texts under 'source'"),
    ],
)
def test_other_lines_are_refused(line: str, message: str, tmp_path: Path) -> None:
    place = tmp_path / "dev.jsonl"
    place.write_text(f'{{"source": ["a"], "target": ["b"]}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(abstracts(str(place)))


def test_a_title_that_is_missing(tmp_path: Path) -> None:
    place = tmp_path / "dev.jsonl"
    place.write_text('{"source": ["a"], "target": ["b"]}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"dev\.jsonl:1: no 'title'"):
        list(summary_pairs(title, [str(place)]))

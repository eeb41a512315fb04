"""The commands of docs/*.md. They are run as they stand, with small budgets, on files and models that are made first.

Above a block in the page, `<!-- long: WHY -->` says that it takes minutes or needs a corpus: its verbs, flags and files are checked only.
A block with `<!-- test: NAME -->` is run by a test of its own: `test_extensions_page.py`.
"""

import gzip
import re
import shutil
from pathlib import Path

import pytest

from documented import POCKET, ROOT, SMALL, Block, blocks, check_program, programs, shell, write_pairs

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tasks").glob("*.md"))]
CHECKED_ONLY = {"explain.md"}  # its commands are run by tests/cli/test_explain.py, on models that fit them
COMMANDS = [block for page in PAGES for block in blocks(page) if block.language == "sh"]
RUN = [block for block in COMMANDS if not block.mark and block.page not in CHECKED_ONLY]
COPIES = ("a", "b", "c", "en-de")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parallel files, a trained runs/demo, and copies of it under other names."""
    home = tmp_path_factory.mktemp("docs")
    write_pairs(home, "en", "de")
    write_pairs(home, "fr", "en")  # *.en is English now
    for name, number in (("test2.en", 1), ("mine.en", 2), ("other.en", 3)):
        lines = (home / "test.en").read_text(encoding="utf-8").splitlines()
        (home / name).write_text("".join(f"{' '.join(line.split()[number:])}\n" for line in lines), encoding="utf-8")
    for name in ("news.en", "news.de", "talks.en.gz", "talks.de.gz"):
        lines = (home / f"train.{'en' if '.en' in name else 'de'}").read_bytes()
        (home / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    (home / "reviews.tsv").write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    shell(f"regard train --out runs/demo {POCKET} {SMALL}", home)
    for name in COPIES:
        shutil.copytree(home / "runs/demo", home / "runs" / name)
    return home


def number_of(block: Block) -> str:
    return f"{block.page}-{[other for other in COMMANDS if other.page == block.page].index(block) + 1}"


def small(line: str) -> str:
    """The command with a small budget."""
    if "regard train" not in line and "regard sweep" not in line:
        return line
    if "model.kind=markov" in line:  # counted at once
        return line
    line = line.replace("--seeds 3", "--seeds 1")
    budget = SMALL if "--src" in line else f"{POCKET} {SMALL}"
    if "model.kind=recurrent" in line:
        budget = re.sub(r"--set model\.(heads|feed_forward)=\d+ ", "", budget)
    return f"{re.sub(r'--minutes [0-9]+', '', line.split(' #')[0])} {budget}"


def test_every_page_with_commands_is_read() -> None:
    assert {block.page for block in RUN} >= {"decoding.md", "engines.md", "models.md", "evaluation.md"}
    assert all(re.fullmatch(r"(long|test): .+|", block.mark) for block in COMMANDS)


@pytest.mark.parametrize("block", COMMANDS, ids=number_of)
def test_verbs_flags_and_files_exist(block: Block) -> None:
    called = list(programs(block.text))
    assert called or block.mark == "test: curl"  # of a server that runs
    for words in called:
        check_program(words)


@pytest.mark.slow
@pytest.mark.parametrize("block", RUN, ids=number_of)
def test_it_runs(block: Block, home: Path) -> None:
    for line in block.text.strip().split("\n"):  # one by one: a line may need what those before it wrote
        shell(small(line), home)


@pytest.mark.parametrize(
    ("command", "mistake"),
    [
        ("regard evalute runs/demo", "no command evalute"),
        ("echo a | regard translate runs/demo --bean 5", "--bean"),
        ("regard train recipes/none.toml", "recipes/none.toml: no such file"),
        ("for s in a b; do python benchmarks/multi30k.py --nothing $s; done", "--nothing"),
    ],
)
def test_what_is_wrong_is_found(command: str, mistake: str) -> None:
    [words] = programs(command)
    with pytest.raises(AssertionError, match=re.escape(mistake)):
        check_program(words)

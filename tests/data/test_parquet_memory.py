"""A small parquet file that unpacks to much is refused in little memory."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regard.data.readers import read_pairs

READ = """
import resource, sys
from regard.data.parquet import parquet_pairs, require_pyarrow
from regard.errors import DataError
import pyarrow.parquet
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
require_pyarrow("x")
before = peak()
rows = 0
try:
    for _ in parquet_pairs(sys.argv[1], ("en", "de")):
        rows += 1
except DataError as error:
    print(error, file=sys.stderr)
print(rows, peak() - before)
"""
LONG = "a" * 2_100_000


@pytest.mark.parametrize("form", ["columns", "struct", "dictionary", "large", "plain"])
def test_a_text_that_many_rows_share_is_unpacked_once(form: str, tmp_path: Path) -> None:
    rows = 400  # 840 MB of text
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([LONG]))
    texts = shared if form == "dictionary" else shared.cast(pa.large_string() if form == "large" else pa.string())
    short = pa.array(["b"] * rows, texts.type if form == "large" else pa.string())
    table = (
        pa.table({"translation": pa.StructArray.from_arrays([texts, short], ["en", "de"])})
        if form == "struct"
        else pa.table({"source": texts, "target": short})
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="zstd", use_dictionary=form != "plain")
    assert path.stat().st_size < 200_000
    result = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    assert "unpacks to more than 100 times its size" in result.stderr
    read, kibibytes = map(int, result.stdout.split())
    assert read == 0
    assert kibibytes < 200 << 10


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_every_type_come_in_their_order(kind: pa.DataType, tmp_path: Path) -> None:
    """Blocks, repeated texts and a dictionary that is too large to be one: the rows are those that were written."""
    pairs = [(f"source {place % 70}", f"target {place} {'x' * (place % 300)}") for place in range(12_000)]
    sources = pa.array([source for source, _ in pairs]).dictionary_encode().cast(pa.string()).cast(kind)
    targets = pa.array([target for _, target in pairs])
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"source": sources, "target": targets}), path, row_group_size=5_000, dictionary_pagesize_limit=10_000
    )
    assert list(read_pairs(pairs=path)) == pairs

"""A text file, encoded for an evaluation: a text may be longer than memory, so it is kept in a temporary directory."""

import shutil
import tempfile
import weakref
from pathlib import Path

from regard.data.readers import read_lines
from regard.data.texts import Documents, TextCorpus, write_texts
from regard.errors import DataError
from regard.text.tokenizer import Tokenizer


def encoded_text(path: str, tokenizer: Tokenizer, documents: Documents) -> TextCorpus:
    """The corpus of a text. Its files are removed with it."""
    home = Path(tempfile.mkdtemp())
    corpus = None
    try:
        counts = write_texts(home, read_lines(path), tokenizer, documents)
        if not counts.words:
            raise DataError(f"{path}: no text to evaluate on; give a file that has some")
        corpus = TextCorpus(home)
    finally:
        if corpus is None:
            shutil.rmtree(home, ignore_errors=True)
    weakref.finalize(corpus, shutil.rmtree, home, ignore_errors=True)
    return corpus

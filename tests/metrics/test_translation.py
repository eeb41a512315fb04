"""BLEU, chrF and TER against sacrebleu's command line, exact match and perplexity by hand."""

import json
import math
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from regard.errors import DataError
from regard.metrics.perplexity import perplexity
from regard.metrics.translation import (
    TOKENIZERS,
    CorpusScore,
    bleu,
    bleu_and_length,
    chrf,
    exact_match,
    sentence_chrf,
    ter,
)

REFERENCES = [
    "He hit me with a pie .",
    "I am a student.",
    "The quick brown fox, aged 3.5 years, jumps over the lazy dog!",
    "«Où est-il ?» demanda-t-elle.",
    "two young men are playing football in the park",
    "",
    "The End of the lecture (part 2)",
]
HYPOTHESES = [
    "he hit me with the pie .",
    "I am a student.",
    "The quick brown dog, aged 3.5 years, jumped over a lazy fox!",
    "« Où est-elle ? » demanda-t-il.",
    "two men play football in a park young",
    "nothing",
    "",
]


def command_line(tmp_path: Path, metric: str, *options: str) -> tuple[float, str]:
    """Score and signature as `sacrebleu` itself prints them."""
    reference, hypothesis = tmp_path / "reference", tmp_path / "hypothesis"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES), encoding="utf-8")
    hypothesis.write_text("".join(f"{line}\n" for line in HYPOTHESES), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(hypothesis), "-m", metric, "-w", "10"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return answer["score"], answer["signature"]


@pytest.mark.parametrize(
    ("name", "options", "arguments"),
    [
        ("bleu", {}, []),
        ("bleu", {"tokenize": "none", "lowercase": True}, ["--tokenize", "none", "--lowercase"]),
        ("bleu", {"tokenize": "intl"}, ["--tokenize", "intl"]),
        ("chrf", {}, []),
        ("chrf", {"lowercase": True}, ["--chrf-lowercase"]),
        ("ter", {}, []),
    ],
)
def test_scores_and_signatures_are_those_of_the_command_line(
    tmp_path: Path, name: str, options: dict[str, bool], arguments: list[str]
) -> None:
    found: CorpusScore = {"bleu": bleu, "chrf": chrf, "ter": ter}[name](HYPOTHESES, REFERENCES, **options)
    value, signature = command_line(tmp_path, name, *arguments)
    assert found.name == name
    assert found.value == pytest.approx(value, abs=1e-8)
    assert 1.0 < found.value < 99.0
    assert _parts(found.signature) == _parts(signature)


def _parts(signature: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|"))


def test_bleu_by_hand() -> None:
    found = bleu(["the cat sat on a mat"], ["the cat sat on the mat"], tokenize="none")
    # equal lengths; unigrams the cat sat on mat = 5/6; bigrams 3/5; trigrams 2/4; four-grams 1/3
    assert found.value == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, abs=1e-8)


def test_the_length_ratio_counts_words_as_bleu_does() -> None:
    score, ratio = bleu_and_length(["a b c .", "d e"], ["a b c.", "d e f g"])
    assert ratio == 6 / 8  # 13a cuts the full stop off
    assert score == bleu(["a b c .", "d e"], ["a b c.", "d e f g"])
    assert bleu_and_length(["a b c .", "d e"], ["a b c.", "d e f g"], tokenize="none")[1] == 6 / 7
    assert bleu_and_length(["a"], [""])[1] == 1.0  # nothing to be shorter than


def test_the_order_of_sentences_does_not_matter() -> None:
    pairs = list(zip(HYPOTHESES, REFERENCES, strict=True))
    random.Random(0).shuffle(pairs)
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    for metric in (bleu, chrf, ter):
        assert metric(hypotheses, references).value == pytest.approx(metric(HYPOTHESES, REFERENCES).value, abs=1e-8)


def test_text_split_already_is_scored_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    bleu(["a b ."] * 200, ["a b ."] * 200, tokenize="none")
    assert not caplog.records


def test_exact_match_is_a_share() -> None:
    assert exact_match(["a", "b", "c ", "d"], ["a", "B", "c", "d"]) == 0.5


def test_sentence_chrf_ranks_sentences() -> None:
    reference = "he hit me with a pie"
    scores = [sentence_chrf(hypothesis, reference) for hypothesis in (reference, "he hit me with a pig", "she", "")]
    assert scores[0] == 100.0
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == 0.0
    assert sentence_chrf("", "") == 100.0


@pytest.mark.parametrize("metric", [bleu, chrf, ter, exact_match])
def test_unequal_and_empty_lists_are_refused(metric) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match="2 hypotheses for 1 references"):
        metric(["a", "b"], ["a"])
    with pytest.raises(DataError, match="no sentences to score"):
        metric([], [])


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokenizers_are_those_of_sacrebleu(name: str) -> None:
    if name.endswith("mecab") and find_spec("MeCab" if name == "ja-mecab" else "mecab_ko") is None:
        with pytest.raises(DataError, match=rf"not installed; run pip install 'sacrebleu\[{name[:2]}\]'"):
            bleu(["a b c d"], ["a b c d"], tokenize=name)
    else:
        assert f"tok:{name}" in bleu(["a b c d"], ["a b c d"], tokenize=name).signature


def test_another_tokenizer_is_refused_with_the_choice() -> None:
    with pytest.raises(DataError, match="tokenize = '12a': no such tokenizer; choose one of 13a"):
        bleu(["a"], ["a"], tokenize="12a")


def test_sacrebleu_is_not_imported_before_it_is_needed() -> None:
    imports = "import sys, regard.metrics.translation, regard.metrics.alignment, regard.metrics.perplexity, regard.metrics.scores"
    code = f"{imports}; print(*(name in sys.modules for name in ('sacrebleu', 'torch', 'numpy')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_perplexity_of_a_uniform_guess_is_the_number_of_choices() -> None:
    assert perplexity(12 * math.log(50), 12) == pytest.approx(50.0)
    assert perplexity(0.0, 3) == 1.0
    assert perplexity(1e9, 1) == math.inf
    assert perplexity(math.inf, 1) == math.inf
    assert math.isnan(perplexity(math.nan, 1))
    with pytest.raises(DataError, match="0 tokens"):
        perplexity(0.0, 0)

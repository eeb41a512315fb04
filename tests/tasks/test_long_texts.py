"""Texts of millions of characters: only the part that can matter is normalised, and the answer says so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.bundle.config import TextsConfig
from regard.engine.constraints import MOST_PHRASES, suppressed_ids
from regard.engine.input_length import MAX_CHARACTERS, TruncationWarning, most_characters
from regard.errors import SearchError
from regard.models.build import count_model
from regard.models.config import MarkovConfig
from regard.tasks.classify.classifier import Classifier
from regard.tasks.generate import writer as writing
from regard.tasks.generate.writer import Writer
from regard.tasks.translate.aligner import MOST_WORDS
from regard.tasks.translate.language_check import LanguageCheck
from regard.tasks.translate.translator import Translator
from regard.text import char, normalise, word
from regard.text.build import TokenizerPair, learn_single
from regard.text.config import TextConfig


@pytest.fixture
def normalised(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that are normalised."""
    lengths: list[int] = []
    plain = normalise.normalise

    def noted(text: str, *options: Any) -> str:
        lengths.append(len(text))
        return plain(text, *options)

    monkeypatch.setattr(word, "normalise", noted)
    monkeypatch.setattr(char, "normalise", noted)
    return lengths


def test_the_bound_grows_with_the_tokens_that_are_kept() -> None:
    assert most_characters(20) == most_characters(1024) == MAX_CHARACTERS == 131_072
    assert most_characters(100_000) == 6_400_000


LONG = "chat " * 2_000_000


def test_a_translator_cuts_before_it_normalises(echo: Callable[..., Translator], normalised: list[int]) -> None:
    model = echo("word", max_tokens=20)
    with pytest.warns(TruncationWarning, match=r"1 source texts .* number 2, with 10000000 characters"):
        found = model.translate(["le chat dort", LONG, "rouge"])
    assert [one.text for one in found] == ["le chat dort", " ".join(["chat"] * 20), "rouge"]
    assert [one.truncated for one in found] == [False, True, False]
    with pytest.warns(TruncationWarning):
        [blank] = model.translate([" " * MAX_CHARACTERS + "chat"])  # its end is not read, though it is one word
    assert (blank.text, blank.truncated) == ("", True)
    with pytest.warns(TruncationWarning):
        [aligned] = model.align([LONG], ["chat"])
    assert aligned.truncated
    assert aligned.links == [(0, 0)]
    assert aligned.weights.shape == (1, 20 + MOST_WORDS)
    with pytest.warns(TruncationWarning):
        LanguageCheck(model.tokenizers, model.languages).warning(0, model.read([LONG]))
    assert max(normalised) == MAX_CHARACTERS


class First(nn.Module):
    """A network that says the first of two labels."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([1.0, 0.0]))

    def forward(self, source: Tensor) -> Tensor:
        return self.logits.expand(len(source), 2)


def test_a_classifier_cuts_before_it_normalises(learned: Callable[..., TokenizerPair], normalised: list[int]) -> None:
    model = Classifier(First(), learned("word").source, ["yes", "no"])
    found = model.classify(["le chat", LONG, " " * (MAX_CHARACTERS + 1)])
    assert [(one.label, one.truncated) for one in found] == [("yes", False), ("yes", True), ("yes", True)]
    assert max(normalised) == MAX_CHARACTERS


def test_a_writer_reads_the_end_of_a_long_prompt(monkeypatch: pytest.MonkeyPatch, normalised: list[int]) -> None:
    tokenizer = learn_single(TextConfig(kind="word"), ["a b c"]).source
    ids = np.array([*tokenizer.encode("a b c"), 0])
    network = count_model(MarkovConfig(order=1, smoothing="none"), ids, np.array([0]), len(tokenizer.vocabulary))
    model = Writer(network.eval(), tokenizer, TextsConfig(documents="line", context=20))
    monkeypatch.setattr(writing, "MOST_PROMPT", 1000)
    for prompt in ("c " * 100_000 + "a", "a"):
        normalised.clear()
        if len(prompt) > 1:
            with pytest.warns(
                TruncationWarning, match="a prompt of 200001 characters is longer than what is read of one, 1000"
            ):
                [found] = model.generate([prompt], sample=False)
        else:
            [found] = model.generate([prompt], sample=False)
        assert (found.text, found.truncated) == (" b c", len(prompt) > 1)
        assert max(normalised) <= 1000


def test_a_text_has_a_limited_number_of_phrases(echo: Callable[..., Translator]) -> None:
    with pytest.raises(SearchError, match=f"text 2 has 101 phrases: give at most {MOST_PHRASES}"):
        echo().translate(["le", "chat"], phrases=[["a"], ["b"] * 101])


def test_a_piece_of_a_million_characters_is_compared_by_its_beginning(learned: Callable[..., TokenizerPair]) -> None:
    with pytest.raises(SearchError, match=r"no piece of the vocabulary, .*did you mean"):
        suppressed_ids(learned("char").source.vocabulary, ["étudiant" * 200_000])

"""What the studio shows of sampling, against the function that draws, and by hand."""

import math

import pytest
import torch

from regard.bundle.config import TextsConfig
from regard.errors import SearchError
from regard.explain.drawing import Drawing, drawing, watch_drawing
from regard.models.build import build_language_model
from regard.models.config import LanguageTransformerConfig
from regard.search.interruption import SearchStopped
from regard.search.options import SearchOptions
from regard.search.sampling import draw
from regard.tasks.generate.writer import Writer
from regard.text.build import learn
from regard.text.config import TextConfig

VERSE = "to be or not to be that is the question"


@pytest.fixture(scope="module")
def writer() -> Writer:
    tokenizer = learn(TextConfig(kind="char"), [VERSE])
    torch.manual_seed(4)
    config = LanguageTransformerConfig(layers=1, width=16, heads=2, feed_forward=16, dropout=0.0)
    network = build_language_model(config, len(tokenizer.vocabulary), context=40).eval()
    return Writer(network, tokenizer, TextsConfig(documents="line", context=40))


def watched(writer: Writer, prompt: str, **options: object) -> tuple[list[Drawing], str]:
    steps: list[Drawing] = []
    found = watch_drawing(writer, prompt, SearchOptions(sample=True, max_length=12, **options), steps.append)  # type: ignore[arg-type]
    return steps, found.text


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5}, {"top_k": 4}, {"top_p": 0.6}, {"top_k": 6, "top_p": 0.5}]
)
def test_what_is_watched_is_what_is_written(writer: Writer, options: dict[str, float]) -> None:
    steps, text = watched(writer, "to be", seed=3, **options)
    [plain] = writer.generate(["to be"], sample=True, max_length=12, seed=3, **options)  # type: ignore[arg-type]
    assert text == plain.text
    assert [step.candidates[step.drawn].token for step in steps if not step.ends] == plain.tokens
    assert steps[-1].ends == plain.finished
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))


def test_cuts_and_probabilities_by_hand(writer: Writer) -> None:
    probabilities = [0.4, 0.3, 0.2, 0.1]
    logits = torch.full((len(writer.tokenizer.vocabulary) - 1,), -torch.inf)
    logits[2:6] = torch.tensor(probabilities).log()
    step = drawing(writer, 1, logits, 3, "b", SearchOptions(sample=True, top_k=3, top_p=0.5))
    # top-k leaves 0.4, 0.3 and 0.2, of 0.9; the first two are 0.44 and 0.33: together they reach 0.5
    four = step.candidates[:4]
    assert [one.cut for one in four] == [None, None, "top-p", "top-k"]
    assert [one.drawn for one in four] == pytest.approx([4 / 7, 3 / 7, 0.0, 0.0])
    assert [one.probability for one in four] == pytest.approx(probabilities)
    assert (step.left, step.all, step.rank, step.drawn) == (2, 4, 2, 1)
    assert step.entropy == pytest.approx(-sum(p * math.log2(p) for p in probabilities))
    hot = drawing(writer, 1, logits, 2, "b", SearchOptions(sample=True, temperature=2.0)).candidates[:4]
    roots = [math.sqrt(p) for p in probabilities]
    assert [one.tempered for one in hot] == pytest.approx([root / sum(roots) for root in roots])
    assert [one.cut for one in hot] == [None] * 4


def test_the_kept_tokens_are_those_that_can_be_drawn(writer: Writer) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(len(writer.tokenizer.vocabulary) - 1, generator=generator)
    options = SearchOptions(sample=True, temperature=0.7, top_k=9, top_p=0.8)
    numbers = torch.linspace(0, 1, 4001, dtype=torch.float64)[:-1]
    settings = {"temperature": 0.7, "top_k": 9, "top_p": 0.8}
    drawn = draw(logits.expand(4000, -1), numbers, **settings)  # type: ignore[arg-type]
    step = drawing(writer, 1, logits, int(drawn[0]), "", options)
    pieces = writer.tokenizer.vocabulary.pieces
    shares = {pieces[token]: (drawn == token).double().mean().item() for token in drawn.unique().tolist()}
    kept = {one.token: one.drawn for one in step.candidates if one.cut is None}
    assert kept == pytest.approx(shares, abs=1e-3)
    assert step.left == len(shares)


def test_a_reader_who_leaves_ends_it(writer: Writer) -> None:
    steps: list[Drawing] = []
    with pytest.raises(SearchStopped):
        watch_drawing(writer, "to", SearchOptions(sample=True), steps.append, stopped=lambda: len(steps) == 3)
    assert len(steps) == 3


def test_only_drawing_is_watched(writer: Writer) -> None:
    with pytest.raises(SearchError, match="sample=True"):
        watch_drawing(writer, "to", SearchOptions(beam=2), lambda step: None)

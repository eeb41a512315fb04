"""The log-probabilities of a text that is streamed: one for each of its tokens and for its end mark, and none for a token that is cut."""

import numpy as np
import pytest
import torch

from regard.bundle.config import TextsConfig
from regard.models.build import build_language_model, count_model
from regard.models.config import LanguageTransformerConfig, MarkovConfig
from regard.search.options import SearchOptions
from regard.tasks.generate.writer import Writer
from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.lines import encode_lines

LINE = "show me my photos"
TEXTS = TextsConfig(documents="line", context=20)


@pytest.mark.parametrize("longest", [1, 7, 60])
@pytest.mark.parametrize("drawn", [{"sample": True, "seed": 2}, {"beam": 1}])
def test_they_are_those_of_the_text_also_where_it_is_cut(drawn: dict[str, int], longest: int) -> None:
    tokenizer = learn(TextConfig(kind="char"), [LINE])
    config = LanguageTransformerConfig(layers=1, width=16, heads=2, feed_forward=16, dropout=0.0)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = build_language_model(config, len(tokenizer.vocabulary), 80).double().eval()
    writer = Writer(network, tokenizer, TEXTS)
    seen: list[int] = []
    options = SearchOptions(max_length=longest, **drawn)  # type: ignore[arg-type]
    ids = encode_lines(tokenizer, "show")
    with writer.stream_ids(ids, options, logprobs=1, see=lambda _, token: seen.append(token)) as stream:
        list(stream)
    end = [network.end_token] if stream.result.finished else []
    assert len(stream.tokens) == longest or end
    assert seen == [one.token for one in stream.logprobs] == [*stream.tokens, *end]
    assert sum(one.logprob for one in stream.logprobs) == pytest.approx(stream.result.logprob, abs=1e-6)


def test_the_end_mark_may_follow_a_text_of_the_maximum_length() -> None:
    tokenizer = learn(TextConfig(kind="word"), [LINE])
    ids = np.array([*tokenizer.encode(LINE), 0])
    network = count_model(MarkovConfig(order=1, smoothing="none"), ids, np.array([0]), len(tokenizer.vocabulary))
    writer = Writer(network.eval(), tokenizer, TEXTS)
    before = tokenizer.encode("show me")
    left = len(ids) - len(before)
    for longest, count in ((left - 2, left - 2), (left - 1, left), (left + 5, left)):
        stream = writer.stream_ids(before, SearchOptions(beam=1, max_length=longest), logprobs=1)
        list(stream)
        assert len(stream.logprobs) == count
        assert stream.result.finished == (count == left)

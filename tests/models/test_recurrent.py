"""The recurrent encoder-decoder against plain loops over torch's cells, written from the papers; and configs that fit no model."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.layers.decoders import AttentiveDecoder, FeedingDecoder, PlainDecoder
from regard.layers.recurrent import Cell
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig
from regard.models.config.presets import PRESETS
from regard.models.recurrent import Recurrent
from regard.ops.probe import Probe
from regard.tasks.settings import parse_settings

VOCABULARY = 12
PAD = VOCABULARY - 1
SIZE: dict[str, Any] = {"layers": 1, "width": 6, "encoder_width": 8, "embedding": 4, "dropout": 0.0}


def network(**options: Any) -> Recurrent:
    torch.manual_seed(0)
    built = build_translator(RecurrentConfig(**{**SIZE, **options}), VOCABULARY, VOCABULARY, joint=False).double()
    assert isinstance(built, Recurrent)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return built


def sentences() -> tuple[Tensor, Tensor]:
    """One source [1, 5] and what is said of it [1, 4]."""
    return torch.tensor([[3, 7, 2, 9, 0]]), torch.tensor([[PAD, 4, 1, 8]])


def torch_cell(cell: Cell) -> nn.RNNCellBase:
    """The same weights in torch's own cell, which takes [input; beside] together."""
    beside = (
        cell.beside.weight if cell.beside is not None else cell.hidden.weight[:, : -cell.hidden.weight.shape[0] // 4]
    )
    inputs = beside if cell.inputs is None else torch.cat([cell.inputs.weight, beside], dim=1)
    hidden = cell.hidden.weight[:, beside.shape[1] :] if cell.beside is None else cell.hidden.weight
    kind = nn.LSTMCell if cell.cell == "lstm" else nn.GRUCell
    theirs = kind(inputs.shape[1], hidden.shape[1]).double()
    with torch.no_grad():
        theirs.weight_ih.copy_(inputs)
        theirs.weight_hh.copy_(hidden)
        theirs.bias_hh.copy_(cell.hidden.bias)
        theirs.bias_ih.zero_() if cell.beside is None else theirs.bias_ih.copy_(cell.beside.bias)
    return theirs


def encoded(model: Recurrent, source: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The encoder's states [S, W], by torch's layer over the one sentence, and the decoder's first state [L, H] each."""
    x = model.source.embedding(source) * 2.0  # the square root of the embedding's width
    states, last = model.encoder.stack.layers(x)
    top = last[0] if isinstance(last, tuple) else last
    first = model.bridge(torch.cat([top[-2], top[-1]], dim=1)).view(model.shape)
    return states[0], (torch.tanh(first[0]), *first[1:])


def test_bahdanau_by_a_plain_loop() -> None:
    """e_j = v tanh(W s_{t-1} + U h_j), a = softmax(e), c_t = sum a_j h_j, s_t = LSTM([y; c_t], s_{t-1}), out = tanh(W [s_t; c_t])."""
    model = network(score="additive", score_width=5)
    source, said = sentences()
    decoder = model.decoder
    assert isinstance(decoder, AttentiveDecoder)
    cell, score = torch_cell(decoder.cell), decoder.attention.score
    states, (hidden, memory) = encoded(model, source)
    expected, looks = [], []
    for token in said[0]:
        energies = torch.stack(
            [score.vector @ torch.tanh(score.query_weight @ hidden[0] + score.key_weight @ state) for state in states]
        )
        weights = torch.softmax(energies, dim=0)
        context = sum(weight * state for weight, state in zip(weights, states, strict=True))
        x = torch.cat([model.target.embedding.weight[token] * 2.0, context])
        hidden, memory = cell(x[None], (hidden, memory))
        read = torch.tanh(decoder.readout(torch.cat([hidden[0], context])))
        expected.append(model.target.embedding.weight[:PAD] @ read)
        looks.append(weights)
    probe = Probe("decoder.0.cross.weights", "decoder.0.cross.2.weights")
    torch.testing.assert_close(model(source, said, probe)[0], torch.stack(expected))
    torch.testing.assert_close(probe["decoder.0.cross.weights"][0, 0], torch.stack(looks))
    torch.testing.assert_close(probe["decoder.0.cross.2.weights"][0, 0, 0], looks[2])
    torch.testing.assert_close(model(source, said)[0], torch.stack(expected))


def test_luong_by_a_plain_loop() -> None:
    """s_t = GRU([y; out_{t-1}], s_{t-1}) through two layers, a = softmax(s_t W h_j), out_t = tanh(W [s_t; c_t])."""
    model = network(cell="gru", input_feeding=True, score="general", layers=2)
    source, said = sentences()
    decoder = model.decoder
    assert isinstance(decoder, FeedingDecoder)
    lower, upper = (torch_cell(cell) for cell in decoder.cells)
    states, (hidden,) = encoded(model, source)
    below, above = hidden[:1], hidden[1:]
    fed, expected = torch.zeros(4).double(), []
    for token in said[0]:
        below = lower(torch.cat([model.target.embedding.weight[token] * 2.0, fed])[None], below)
        above = upper(below, above)
        weights = torch.softmax(torch.stack([above[0] @ decoder.attention.score.weight @ h for h in states]), dim=0)
        fed = torch.tanh(decoder.readout(torch.cat([above[0], weights @ states])))
        expected.append(model.target.embedding.weight[:PAD] @ fed)
    torch.testing.assert_close(model(source, said)[0], torch.stack(expected))


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_one_vector_by_torch(cell: str) -> None:
    """Without attention: torch's own stack from the bridge's state."""
    model = network(cell=cell, attention=False, layers=2)
    source, said = sentences()
    assert isinstance(model.decoder, PlainDecoder)
    _, first = encoded(model, source)
    start = tuple(part[:, None] for part in first)
    states, _ = model.decoder.stack.layers(model.target.embedding(said) * 2.0, start if len(start) == 2 else start[0])
    expected = F.linear(torch.tanh(model.decoder.readout(states)), model.target.embedding.weight[:PAD])
    torch.testing.assert_close(model(source, said), expected)
    probe = Probe("*")
    model(source, said, probe)
    assert not [name for name in probe if "cross" in name]


def test_gradients_of_the_loop() -> None:
    """The maps that a loop repeats gather their gradients at its end; differences of the loss do not know that."""
    source, said = sentences()
    for options in ({"score": "additive"}, {"input_feeding": True, "cell": "gru", "score": "dot", "layers": 2}):
        model = network(**options)
        gradients = torch.autograd.grad(model(source, said).square().sum(), list(model.parameters()))
        for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
            place = gradient.abs().argmax()
            with torch.no_grad():
                flat, step = parameter.view(-1), 1e-6
                values = []
                for move in (step, -2.0 * step):
                    flat[place] += move
                    values.append(model(source, said).square().sum())
                flat[place] += step
            slope = (values[0] - values[1]) / (2.0 * step)
            torch.testing.assert_close(gradient.view(-1)[place], slope, rtol=1e-5, atol=1e-6, msg=name)


def test_dropout_stands_where_the_literature_puts_it() -> None:
    """On embeddings, between layers and before the output: with one layer the recurrence itself loses nothing."""
    model = network(dropout=0.5).train()
    source, said = sentences()
    torch.manual_seed(1)
    hidden = model.hidden(source.repeat(200, 1), said.repeat(200, 1))
    assert 0.4 < (hidden == 0.0).double().mean() < 0.6
    model.eval()
    assert not (model.hidden(source, said) == 0.0).any()


def test_presets_and_what_forgets_nothing_at_first() -> None:
    assert RecurrentConfig.parse({"preset": "small", "layers": 3}).width == PRESETS["recurrent"]["small"]["width"]
    torch.manual_seed(0)
    built = build_translator(RecurrentConfig(**SIZE), VOCABULARY, VOCABULARY, joint=True)
    assert isinstance(built.decoder, AttentiveDecoder)
    assert built.decoder.cell.hidden.bias.chunk(4)[1].tolist() == [1.0] * 6
    assert built.encoder.stack.layers.bias_ih_l0.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8


REFUSED = {
    "compares states of equal width, but model.encoder_width is 8 and model.width 6": {"score": "parameter_free"},
    "model.score 'mahalanobis' compares states of equal width": {"score": "mahalanobis"},
    "it needs model.attention = true": {"attention": False, "input_feeding": True},
    "width 7 has no equal halves": {"encoder_width": 7},
    "an odd model.kernel, not 4": {"encoder": "convolutional", "kernel": 4},
    "an even model.embedding, not 5": {"encoder": "convolutional", "embedding": 5},
    "model.max_positions 100 is shorter than the longest example": {"score": "location", "max_positions": 100},
    "unknown key 'model.heads'; it needs model.kind = 'transformer'": {"heads": 2},
    "unknown key 'model.cel'; did you mean 'model.cell'?": {"cel": "gru"},
    "model.cell = 'lstn': input should be": {"cell": "lstn"},
    "model.score = 'dott': input should be": {"score": "dott"},
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_what_fits_no_model_is_refused(complaint: str) -> None:
    values = {"model": {"kind": "recurrent", **SIZE, **REFUSED[complaint]}}
    with pytest.raises(ConfigError) as caught:
        parse_settings(values, "run.toml")
    assert str(caught.value).startswith("run.toml: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"score": "location"}, "model.score 'location' does not look at the keys"),
        ({"score": "additive", "positions": "rotary"}, "model.positions 'rotary' puts into queries and keys"),
        ({"cell": "gru"}, "unknown key 'model.cell'; it needs model.kind = 'recurrent'"),
        ({"kind": "recurent"}, "model.kind = 'recurent': input should be 'transformer' or 'recurrent'"),
    ],
)
def test_what_fits_no_transformer_is_refused(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings({"model": values}, "run.toml")
    assert complaint in str(caught.value)

"""The prefix language model: against `torch.nn.TransformerEncoder` over one sequence with UniLM's mask written out, and that mask itself.

The contract suites have the rest: steps equal teacher forcing, padding changes nothing, one batch is learnt by heart.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.test_transformer import copy_attention, copy_common, copy_norms
from regard.errors import ConfigError
from regard.models.build import build_translator
from regard.models.config import PrefixConfig
from regard.models.prefix import PrefixTransformer
from regard.models.state import TransformerState
from regard.ops.probe import Probe

VOCABULARY, PAD = 23, 22
SIZE: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 24, "dropout": 0.0}


def network_of(**options: Any) -> PrefixTransformer:
    """A network in double precision whose every weight is random."""
    torch.manual_seed(1)
    network = build_translator(PrefixConfig(**{**SIZE, **options}), VOCABULARY, VOCABULARY, joint=True)
    assert isinstance(network, PrefixTransformer)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return network.double().eval()


def torch_oracle(network: PrefixTransformer, norm: str, activation: str) -> nn.TransformerEncoder:
    """`nn.TransformerEncoder` with our weights."""
    width, heads, inner = SIZE["width"], SIZE["heads"], SIZE["feed_forward"]
    layer = nn.TransformerEncoderLayer(
        width, heads, inner, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    last = nn.LayerNorm(width) if norm == "pre" else None
    oracle = nn.TransformerEncoder(layer, SIZE["layers"], last, enable_nested_tensor=False).double()
    with torch.no_grad():
        for mine, theirs in zip(network.decoder, oracle.layers, strict=True):
            copy_attention(mine.mixer, theirs.self_attn)
            copy_common(mine, theirs)
            copy_norms(theirs, mine.around_mixer.norm, mine.around_feed_forward.norm)
        if last is not None:
            last.load_state_dict(network.decoder_norm.state_dict())
    return oracle.train()  # eval takes a fast path of its own


def closed(source: int, target: int) -> Tensor:
    """UniLM's mask of one sequence [source, target], True where a row must not look."""
    rows, columns = torch.arange(source + target)[:, None], torch.arange(source + target)
    return (columns >= source) & ((rows < source) | (columns > rows))


def test_the_mask_of_three_source_and_two_target_tokens() -> None:
    """As it is drawn in docs/models.md."""
    drawn = ["...xx", "...xx", "...xx", "....x", "....."]
    assert ["".join(".x"[hidden] for hidden in row) for row in closed(3, 2).tolist()] == drawn


def oracle_logits(oracle: nn.Module, network: PrefixTransformer, source: Tensor, target: Tensor) -> Tensor:
    """[T, V] of one sentence without padding, as one sequence."""
    table, places = network.target.embedding.weight, network.target.positions
    assert places is not None
    sides = ((source, network.source.segment), (target, network.target.segment))
    embedded = [(table[ids] + segment) * SIZE["width"] ** 0.5 + places(0, len(ids)) for ids, segment in sides]
    states = oracle(torch.cat(embedded)[None], mask=closed(len(source), len(target)))
    return states[0, len(source) :] @ table[:PAD].T  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("norm", "activation", "positions"), [("pre", "relu", "sinusoidal"), ("post", "gelu", "learned")]
)
def test_it_is_one_sequence_under_the_mask(norm: str, activation: str, positions: str) -> None:
    network = network_of(norm=norm, activation=activation, positions=positions, max_positions=9)
    oracle = torch_oracle(network, norm, activation)
    source, target = torch.randint(0, PAD, (3, 6)), torch.randint(0, PAD, (3, 5))
    source[1, 4:], source[2, 1:], target[:, 0] = PAD, PAD, PAD
    mine = network(source, target)
    theirs = torch.stack(
        [oracle_logits(oracle, network, ids[ids != PAD], row) for ids, row in zip(source, target, strict=True)]
    )
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-10)
    weights, table = torch.randn_like(mine), network.target.embedding.weight
    fronts = [table, network.source.segment, network.target.segment]
    ours = torch.autograd.grad((mine * weights).sum(), fronts)
    expected = torch.autograd.grad((theirs * weights).sum(), fronts)
    torch.testing.assert_close(ours[0][:PAD], expected[0][:PAD], rtol=0, atol=1e-9)  # the row of pad has no gradient
    torch.testing.assert_close(ours[1:], expected[1:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_who_depends_on_whom(positions: str) -> None:
    """d state_i / d embedding_j is zero where the mask is closed and nowhere else; padding is looked at by nobody."""
    network, source = network_of(positions=positions), torch.tensor([[3, 1, 4, 0, PAD, PAD]])
    target_in, real = torch.tensor([[PAD, 5, 9, 2]]), 4
    probe = Probe("encoder.1.hidden", "decoder.1.hidden", "encoder.words", "decoder.words", edits={"*.words": leaf})
    network.hidden(source, target_in, probe)
    words = [probe["encoder.words"], probe["decoder.words"]]
    states = torch.cat([probe["encoder.1.hidden"][0, :real], probe["decoder.1.hidden"][0]])
    depends = []
    for state in states:
        gradients = torch.autograd.grad(state.square().sum(), words, retain_graph=True, materialize_grads=True)
        depends.append(torch.cat([gradients[0][0], gradients[1][0]]).abs().amax(dim=1) > 0)
    depends = torch.stack(depends)
    assert not depends[:, real : source.shape[1]].any()
    assert torch.equal(torch.cat([depends[:, :real], depends[:, source.shape[1] :]], dim=1), ~closed(real, 4))


def leaf(words: Tensor) -> Tensor:
    return words.detach().requires_grad_()


@pytest.mark.parametrize("options", [{}, {"positions": "relative"}, {"score": "additive"}])
@torch.no_grad()
def test_fused_and_written_out_attention_agree(options: dict[str, Any]) -> None:
    """With a probe attention is written out in two parts, whose weights sum to 1 and whose contexts add up."""
    network, source = network_of(**options), torch.tensor([[3, 1, 4, 0], [5, 0, PAD, PAD]])
    target_in, probe = torch.tensor([[PAD, 5, 9], [PAD, 2, 7]]), Probe("*")
    torch.testing.assert_close(network(source, target_in, probe), network(source, target_in), rtol=0, atol=1e-10)
    for layer in range(SIZE["layers"]):
        look, past = (probe[f"decoder.{layer}.{part}.weights"] for part in ("cross", "self"))
        torch.testing.assert_close(look.sum(dim=-1) + past.sum(dim=-1), torch.ones_like(look[..., 0]))
        assert not look[1, :, :, 2:].any()
        assert not past.triu(diagonal=1).any()
        contexts = sum(probe[f"decoder.{layer}.{part}.context"] for part in ("cross", "self"))
        assert isinstance(contexts, Tensor)
        torch.testing.assert_close(contexts.transpose(1, 2).flatten(2), probe[f"decoder.{layer}.both.joined"])


@torch.no_grad()
def test_a_part_can_be_edited() -> None:
    """Without the part of the source, the source says nothing: two sources give the same logits."""
    network, target_in = network_of(), torch.tensor([[PAD, 5, 9]])
    sources = [torch.tensor([[3, 1, 4, 0]]), torch.tensor([[7, 8, 2, 0]])]
    barred = {"decoder.*.cross.masked": lambda scores: torch.full_like(scores, -torch.inf)}
    alone = [network(source, target_in, Probe(edits=barred)) for source in sources]
    torch.testing.assert_close(*alone, rtol=0, atol=1e-12)
    assert not torch.allclose(network(sources[0], target_in), network(sources[1], target_in))


@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
@torch.no_grad()
def test_the_source_is_stored_once_a_sentence(score: str) -> None:
    """A reorder moves none of its keys, for as many hypotheses as one likes; prepared decoding or not."""
    network, source = network_of(score=score), torch.tensor([[3, 1, 4, 0], [5, 0, PAD, PAD]])
    state, tokens = network.start(source), torch.full((2, 1), PAD)
    for hypotheses in (4, 10):
        before = pointers(state)
        parents = torch.zeros(2, hypotheses, dtype=torch.long)
        state = state.reorder(torch.arange(2), parents)
        if hypotheses <= 8:
            assert pointers(state) == before
        tokens = tokens.gather(1, parents).fill_(6) if tokens.shape[1] > 1 else tokens.expand(2, hypotheses)
        logits, state, _ = network.step(tokens, state)
        assert source_of(state)[0][0].numel() == 2 * 4 * SIZE["width"]
    forced = network(source, torch.tensor([[PAD, 6]] * 2))[:, -1]
    torch.testing.assert_close(logits, forced[:, None].expand(-1, 10, -1), rtol=0, atol=1e-10)


def source_of(state: Any) -> Any:
    """The keys and values of the source, of each layer."""
    return state.source


def pointers(state: Any) -> list[int]:
    return [part.data_ptr() for layer in source_of(state) for part in layer]


@torch.no_grad()
def test_the_recorded_attention_is_the_share_of_the_source() -> None:
    network, source = network_of(), torch.tensor([[3, 1, 4, 0]])
    probe = Probe("decoder.1.cross.weights")
    network(source, torch.tensor([[PAD]]), probe)
    share = probe["decoder.1.cross.weights"].mean(dim=1)[0, 0]
    assert 0.0 < share.sum() < 1.0
    _, state, seen = network.step(torch.tensor([[PAD]]), network.start(source), record=True)
    assert isinstance(state, TransformerState)
    assert seen is not None
    torch.testing.assert_close(seen.attention[0, 0], share / share.sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mixer": "hyena"}, "model.mixer 'hyena' cannot be masked as model.kind 'prefix' needs it"),
        ({"mixer": ["attention", "window"]}, "model.mixer 'window' cannot be masked"),
        ({"mixer": "linformer"}, "model.mixer 'linformer' cannot be masked"),
        ({"mixer": "nothing"}, "mixer = 'nothing': input should be"),
        ({"mixer": ["attention"] * 3}, "model.mixer lists 3 mixers, but the decoder has 2 layers"),
        ({"score": "location"}, "model.score 'location' does not look at the keys"),
        ({"score": "additive", "positions": "rotary"}, "does not read the distance"),
        ({"encoder_layers": 3}, "unknown key 'encoder_layers'"),
        ({"encoder_mixer": "hyena"}, "unknown key 'encoder_mixer'"),
        ({"preset": "tiny-deep"}, "preset = 'tiny-deep'"),
    ],
)
def test_settings_that_it_cannot_have(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        PrefixConfig.parse({"layers": 2, **options})
    assert message in str(error.value)
    assert "\n" not in str(error.value)

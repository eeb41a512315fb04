"""Names of format 1: every stored tensor has its place in the network of today."""

import pytest

from regard.bundle.format1 import tensor_name

NAMES = {
    "target_embedding.weight": "target.embedding.weight",
    "source_embedding.weight": "source.embedding.weight",
    "source_positions.table": "source.positions.table",
    "target_positions.table": "target.positions.table",
    "source_bias.table": "encoder_bias.table",
    "target_bias.table": "decoder_bias.table",
    "encoder.0.attention.query.weight": "encoder.0.mixer.query.weight",
    "decoder.11.attention.score.vector": "decoder.11.mixer.score.vector",
    "decoder.1.around_attention.norm.bias": "decoder.1.around_mixer.norm.bias",
    "decoder.1.cross.query.weight": "decoder.1.cross.query.weight",
    "decoder.1.around_cross.norm.bias": "decoder.1.around_cross.norm.bias",
    "decoder.attention.score.query_weight": "decoder.attention.score.query_weight",  # of a recurrent network
    "encoder.stack.layers.weight_ih_l0": "encoder.stack.layers.weight_ih_l0",
    "embedding.weight": "embedding.weight",  # of a bag
    "output": "output",
    "encoder.0.attention.value.bias/exp_avg": "encoder.0.mixer.value.bias/exp_avg",
    "successors.2.keys": "successors.2.keys",
}


@pytest.mark.parametrize("old", NAMES)
def test_a_name_of_format_1(old: str) -> None:
    assert tensor_name(old) == NAMES[old]
    assert tensor_name(NAMES[old]) == NAMES[old], "a name of today stays"

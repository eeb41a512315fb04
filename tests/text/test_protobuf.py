"""The bytes of a sentencepiece model are checked as protobuf reads them."""

import pytest

from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.protobuf import check_model

MAP = b"\x12\x04\x04\x00\x00\x00"  # field 2: a map of characters of four bytes


@pytest.fixture(scope="module")
def model() -> bytes:
    [content] = learn(TextConfig.parse({"vocabulary": 300}), ["il m'a entarté"] * 3).files().values()
    return content


def test_a_model_of_regard_is_sound(model: bytes) -> None:
    check_model(model)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(b"\x1a\x06" + MAP, id="field 3"),
        pytest.param(b"\x2a\x06" + MAP, id="field 5"),
        pytest.param(b"\x9a\x80\x80\x80\x10\x06" + MAP, id="field 3 + 2^29, which protobuf reads as 3"),
        pytest.param(b"\x1a\x0a" + b"\x92\x80\x80\x80\x10" + MAP[1:], id="the same inside"),
        pytest.param(b"\x02\x00", id="field 0"),
    ],
)
def test_a_map_of_characters_is_refused_however_its_field_is_written(model: bytes, spec: bytes) -> None:
    with pytest.raises(ValueError, match=r"map of characters|not a protobuf message"):
        check_model(model + spec)

"""Mutated bundles with a correct manifest: opening, describing, loading and converting one either works or is a `RegardError`.

They run in this process, where Hypothesis can shrink a failure. `hostile.families` has the same attacks on whole commands.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.bundle.bundle import read_network, save_bundle
from regard.bundle.ctranslate2 import convert, obstacle
from regard.bundle.describe import describe
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import _digest, open_manifest, write_manifest
from regard.errors import RegardError
from regard.models.build import count_model
from regard.tasks.bundles import bundle_classes, open_bundle
from regard.tasks.classify.settings import ClassifyBundle
from regard.tasks.generate.settings import GenerateBundle
from regard.tasks.translate.settings import TranslateBundle
from regard.text.build import learn_single
from regard.text.config import OneTextConfig
from regard.text.subword import SubwordTokenizer

TEXTS = ["je suis étudiant", "le chat dort", "la pomme est rouge", "il m'a entarté"]
SMALL = {"layers": 1, "width": 8, "heads": 2, "feed_forward": 8}
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def bundles(home: Path) -> dict[str, Path]:
    """A bundle of each kind: two translators, a bag, a recurrent classifier and a counted language model."""
    tokenizers = learn_single(OneTextConfig(kind="bpe", vocabulary=300), TEXTS)
    size = len(tokenizers.source.vocabulary)
    sizes = {"vocabulary": {"source": size, "target": size, "joint": True}}
    head = {"labels": ["a", "b"]}
    configs: dict[str, Any] = {
        "translator": TranslateBundle.parse({"model": SMALL, "alignment": {"heads": [[0, 1]]}, **sizes}),
        "prefix": TranslateBundle.parse({"model": {**SMALL, "kind": "prefix"}, **sizes}),
        "bag": ClassifyBundle.parse({"model": {"kind": "bag", "ngrams": 2, "buckets": 8}, **sizes, **head}),
        "recurrent": ClassifyBundle.parse({"model": {"kind": "recurrent", "width": 4}, **sizes, **head}),
        "markov": GenerateBundle.parse({"model": {"kind": "markov", "order": 2}, "texts": {"context": 9}, **sizes}),
    }
    ids = np.array([index for text in TEXTS for index in tokenizers.source.encode(text)], dtype=np.int32)
    for name, config in configs.items():
        counted = count_model(config.model, ids, np.array([0]), size).tables() if config.counted else None
        save_bundle(home / name, counted or config.network().state_dict(), config, tokenizers)
    return {name: home / name for name in configs}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return bundles(tmp_path_factory.mktemp("sound"))


def copied(source: Path, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    return place


def is_handled(use: Callable[[], object]) -> bool:
    """Whether it works; any error but a `RegardError` of one short line fails the test."""
    try:
        use()
    except RegardError as error:
        message = str(error)
        controls = {character for character in message if category(character) in ("Cc", "Cs", "Zl", "Zp")}
        if controls or len(message) > 2000:
            raise AssertionError(f"not a line to show: {message!r}") from error
        return False
    return True


def use_all(bundle: Path, place: Path) -> None:
    """Everything that a command does with a bundle before it has input."""
    is_handled(lambda: describe(bundle, bundle_classes()))
    opened: list[Any] = []
    if not is_handled(lambda: opened.append(open_bundle(bundle))):
        return
    is_handled(lambda: read_network(opened[0]))
    if obstacle(opened[0].config.model) is None:
        place.mkdir(exist_ok=True)
        is_handled(lambda: convert(opened[0], "float32", place))


ODD = st.sampled_from(
    [None, True, -1, 0, 1, 2, 3, 10**9, 2**63, 10**60, 0.5, -1e308, "", "x", "\x1b[2J\u202e", [], {}, [[-1, 0]]]
)


def mutated(data: st.DataObject, value: Any, depth: int = 0) -> Any:
    """The value with one part replaced, removed or added."""
    if isinstance(value, dict) and value and data.draw(st.booleans() if depth else st.just(True)):
        name = data.draw(st.sampled_from(sorted(value)))
        change = data.draw(st.sampled_from(["inside", "inside", "inside", "remove", "add"]))
        if change == "inside":
            return {**value, name: mutated(data, value[name], depth + 1)}
        rest = {key: part for key, part in value.items() if key != name}
        return rest if change == "remove" else {**value, data.draw(st.text(max_size=5)): data.draw(ODD)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(data, value[place], depth + 1), *value[place + 1 :]]
    return data.draw(ODD)


@pytest.mark.parametrize("kind", ["translator", "prefix", "bag", "recurrent", "markov"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@few
@given(st.data())
def test_json_files(sound: dict[str, Path], tmp_path: Path, kind: str, name: str, data: st.DataObject) -> None:
    bundle = copied(sound[kind], tmp_path / "b")
    values = json.loads((bundle / name).read_text(encoding="utf-8"))
    (bundle / name).write_text(json.dumps(mutated(data, values)), encoding="utf-8")
    write_manifest(bundle)
    use_all(bundle, tmp_path / "converted")


@few
@given(st.data())
def test_manifests(sound: dict[str, Path], tmp_path: Path, data: st.DataObject) -> None:
    bundle = copied(sound["bag"], tmp_path / "b")
    values = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    changed = mutated(data, {key: part for key, part in values.items() if key != "sha256"})
    if isinstance(changed, dict):
        changed = {**changed, "sha256": _digest(changed)}
    (bundle / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")
    is_handled(lambda: open_manifest(bundle))
    use_all(bundle, tmp_path / "converted")


@pytest.mark.parametrize("kind", ["translator", "bag", "recurrent", "markov"])
@few
@given(st.data())
def test_headers(sound: dict[str, Path], tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """Names, types, shapes and offsets of tensors; half of the files stay well-formed."""
    bundle = copied(sound[kind], tmp_path / "b")
    path = bundle / "model.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    tensors = [name for name in header if name != "__metadata__"]
    name = data.draw(st.sampled_from(tensors))
    tensor = header[name]
    if data.draw(st.booleans()):
        begin, end = tensor["data_offsets"]
        shapes = [[end - begin], [1, *tensor["shape"]], tensor["shape"][::-1], [], [(end - begin) // 4, 1]]
        dtypes = ["F32", "I32", "U8", "F64", "BF16", "BOOL"]
        header[name] = {
            **tensor,
            "shape": data.draw(st.sampled_from(shapes)),
            "dtype": data.draw(st.sampled_from(dtypes)),
        }
    else:
        header = mutated(data, {**header, name: mutated(data, tensor)})
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    write_manifest(bundle)
    use_all(bundle, tmp_path / "converted")


@few
@given(st.data())
def test_weights_of_any_bits(sound: dict[str, Path], tmp_path: Path, data: st.DataObject) -> None:
    bundle = copied(sound[data.draw(st.sampled_from(sorted(sound)))], tmp_path / "b")
    path = bundle / "model.safetensors"
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([None, -1, 9, 100]))])
    write_manifest(bundle)
    use_all(bundle, tmp_path / "converted")


@few
@given(st.data())
def test_sentencepiece_models(sound: dict[str, Path], data: st.DataObject) -> None:
    content = bytearray((sound["bag"] / "joint.spm").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        attack = data.draw(st.sampled_from(["byte", "cut", "insert", "charsmap"]))
        if attack == "byte":
            content[place] = data.draw(st.integers(0, 255))
        elif attack == "cut":
            del content[place : place + data.draw(st.integers(1, 50))]
        elif attack == "insert":
            content[place:place] = data.draw(st.binary(max_size=20))
        else:
            content += b"\x1a\x0b\x12\x09\x04\0\0\0" + data.draw(st.binary(min_size=5, max_size=5))
        if len(content) < 2:
            break
    is_handled(lambda: SubwordTokenizer(bytes(content), "bpe"))


@few
@given(st.text(max_size=60) | st.sampled_from(["checkpoints/a", "checkpoints/../..", "/dev", ".", "checkpoints"]))
def test_pointers(sound: dict[str, Path], tmp_path: Path, content: str) -> None:
    run = tmp_path / "run"
    if not run.exists():
        shutil.copytree(sound["bag"], run / "checkpoints/a")
    (run / "best").write_bytes(content.encode("utf-8", "surrogatepass"))
    found: list[Path] = []
    if is_handled(lambda: found.append(find_bundle(run))):
        assert found[0].resolve().is_relative_to(run)


def test_a_map_of_characters_is_refused(sound: dict[str, Path]) -> None:
    """No model of regard has one, and versions of sentencepiece have read such a map out of bounds."""
    content = (sound["bag"] / "joint.spm").read_bytes()
    with pytest.raises(RegardError, match="it has a map of characters"):
        SubwordTokenizer(content + b"\x1a\x03\x12\x01x", "bpe")

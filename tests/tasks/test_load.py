"""A bundle, or a run, gives the same translations as the network in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard.bundle.bundle import save_bundle
from regard.bundle.config import AlignmentConfig, Languages, VocabularySizes
from regard.bundle.locate import write_pointer
from regard.errors import BundleError, ConfigError
from regard.models.config import TransformerConfig
from regard.tasks.load import load_served
from regard.tasks.translate.settings import TranslateBundle
from regard.tasks.translate.translator import Translator

SIZE = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.5}


def saved(model: Translator, path: Path, **settings: object) -> None:
    pair = model.tokenizers
    config = TranslateBundle(
        model=TransformerConfig.parse({**SIZE, **settings}),
        vocabulary=VocabularySizes(
            source=len(pair.source.vocabulary), target=len(pair.target.vocabulary), joint=pair.joint
        ),
        languages=Languages(source="fr", target="en"),
        alignment=AlignmentConfig(layer=1),
    )
    save_bundle(path, model.network.state_dict(), config, pair)


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
def test_loaded_equals_in_memory(random_model: Callable[..., Translator], tmp_path: Path, kind: str) -> None:
    model = random_model(kind, joint=True)
    model.network.float()
    saved(model, tmp_path / "run" / "checkpoints" / "step-00000001")
    write_pointer(tmp_path / "run", "latest", "checkpoints/step-00000001")
    texts = ["le chat dort", "rouge", ""]
    for path in (tmp_path / "run", str(tmp_path / "run" / "checkpoints" / "step-00000001")):
        loaded = load_served(path, engine="torch")
        assert loaded.translate(texts) == model.translate(texts)
        assert loaded.score(texts, texts) == model.score(texts, texts)
        assert loaded.languages == Languages(source="fr", target="en")
        assert loaded.alignment.layer == 1
        assert loaded.bundle is not None
        assert loaded.device.type == "cpu"


def test_the_reach_of_learned_positions_comes_from_the_config(
    random_model: Callable[..., Translator], tmp_path: Path
) -> None:
    model = random_model("char", positions="learned", max_positions=30)
    saved(model, tmp_path / "b", positions="learned", max_positions=30)
    loaded = load_served(tmp_path / "b")
    assert loaded.max_tokens == 29
    assert len(loaded.translate(["le chat dort"], max_length=1000)[0].tokens) <= 29


def test_what_cannot_be_loaded(random_model: Callable[..., Translator], tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no such directory"):
        load_served(tmp_path / "b")
    saved(random_model(), tmp_path / "b")
    with pytest.raises(ConfigError, match="device = 'gpu'"):
        load_served(tmp_path / "b", device="gpu")

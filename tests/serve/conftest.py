"""Two small translators, fr-en and en-de, loaded once for all tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("ctranslate2")

from regard.serve.models import ServedModels
from regard.serve.settings import ServeSettings
from serve.every_task import small_bundles
from serve.running import Running, running
from tasks.bundles import random_bundle


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The directories of both models."""
    folder = tmp_path_factory.mktemp("served")
    return [
        random_bundle(folder / "fr-en", languages={"source": "fr", "target": "en"}, ending=3.0),
        random_bundle(folder / "en-de", languages={"source": "en", "target": "de"}, ending=2.5),
    ]


@pytest.fixture(scope="session")
def served_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the converted models are: servers that tests start need not convert them again."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def models(bundles: list[Path], served_cache: Path) -> ServedModels:
    """Both models, loaded."""
    settings = ServeSettings(beam=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(served_cache))
        loaded = ServedModels.load(bundles, settings)
        loaded.prepare(settings)
    return loaded


@pytest.fixture(scope="session")
def server(models: ServedModels) -> Iterator[Running]:
    """A server of both, with the settings of a new user."""
    with running(models) as found:
        yield found


@pytest.fixture(scope="session")
def every(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory, served_cache: Path) -> Iterator[Running]:
    """A server of a model of every task: both translators, and those of `small_bundles`."""
    folder = tmp_path_factory.mktemp("every")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(served_cache))
        found = small_bundles(folder)
        settings = ServeSettings(beam=2)
        models = ServedModels.load([*bundles, *found.values()], settings)
    named = {path.resolve().name: name for name, path in found.items()}
    assert {model.name for model in models.all()} == {"fr-en", "en-de", *named}
    with running(models) as server:
        yield server

"""`ServedModels`: what is refused before a model is loaded."""

from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.serve.models import ServedModels
from regard.serve.settings import ServeSettings


@pytest.mark.parametrize(
    ("languages", "said"),
    [
        ({"nix": "fr-en"}, "languages.nix: no such model is served; there is demo"),
        ({"demo": "frxen"}, "languages.demo = 'frxen': no pair of languages; write the codes with a dash, as in fr-en"),
    ],
)
def test_wrong_languages_are_refused(languages: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ServedModels.load([Path("demo")], ServeSettings.parse({"languages": languages}))
    assert str(refused.value) == said

"""The warm process that runs hostile commands, and the sound runs that they damage. Both are made once a session."""

from collections.abc import Iterator

import pytest

from hostile.verbs import Materials, Server, make_materials


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as process:
        yield process


@pytest.fixture(scope="session")
def materials(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Materials:
    return make_materials(tmp_path_factory.mktemp("materials"), server)

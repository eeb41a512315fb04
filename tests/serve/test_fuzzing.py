"""schemathesis draws requests from the spec of a server with a model of every task. None may be answered by an error of the server."""

import subprocess
import sys

import pytest

from serve.running import Running


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_request_of_the_spec_is_an_error_of_the_server(every: Running, seed: int) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{every.url}/spec", "--checks", "not_a_server_error"),
        *("--phases", "coverage,fuzzing", "--max-examples", "40", "--workers", "1", "--seed", str(seed)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    failed = [event for event in every.events if event.get("status", 0) >= 500 and event["status"] != 501]
    assert not failed
    assert done.returncode == 0, done.stdout[-3000:]
    assert len(every.events) > 300

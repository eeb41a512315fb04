"""A hub on the loopback interface: the parts of the Hugging Face Hub's protocol that fetching, pushing and pulling use."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

SHA = "a" * 40


class FakeHub:
    """The models of a hub, and the requests that it got."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.status: int | None = None
        """What every request is answered with; None: the truth."""
        self.address = ""

    @property
    def fetched(self) -> set[str]:
        """The names of the files whose content was asked for."""
        return {
            unquote(path.split(f"/resolve/{SHA}/")[1])
            for path in self.asked
            if path.startswith("GET") and "/resolve/" in path
        }


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.split("?")[0]
            hub.asked.append(f"{self.command} {path}")
            if hub.status is not None:
                return self._send(b"{}", status=hub.status)
            if "/resolve/" in path:
                return self._file(path)
            parts = path.removeprefix("/api/").split("/")
            if parts[:2] == ["repos", "create"]:
                name = json.loads(body)["name"]
                owner = json.loads(body).get("organization") or "someone"
                hub.models.setdefault(f"{owner}/{name}", {})
                return self._json({"url": f"{hub.address}/{owner}/{name}"})
            if parts[0] == "validate-yaml" or parts[0] == "whoami-v2":
                return self._json({"name": "someone", "errors": [], "warnings": []})
            name = "/".join(parts[1:3])
            if name not in hub.models:
                return self._send(b"{}", status=404, error="RepoNotFound")
            if parts[3:4] == ["preupload"]:
                files = [
                    {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for file in json.loads(body)["files"]
                ]
                return self._json({"files": files})
            if parts[3:4] == ["commit"]:
                for line in body.decode().splitlines():
                    entry = json.loads(line)
                    if entry["key"] == "file":
                        hub.models[name][entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
                return self._json(
                    {"success": True, "commitOid": SHA, "commitUrl": f"{hub.address}/{name}/commit/{SHA}"}
                )
            if parts[3:4] == ["tree"]:
                return self._json(
                    [
                        {"type": "file", "path": file, "size": len(content), "oid": _etag(content)}
                        for file, content in hub.models[name].items()
                    ]
                )
            if parts[3:5] == ["revision", "nowhere"]:
                return self._send(b"{}", status=404, error="RevisionNotFound")
            siblings = [{"rfilename": file} for file in hub.models[name]]
            return self._json(
                {
                    "id": name,
                    "modelId": name,
                    "sha": SHA,
                    "siblings": siblings,
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                    "likes": 0,
                }
            )

        def _file(self, path: str) -> None:
            name, _, rest = path.lstrip("/").partition("/resolve/")
            content = hub.models.get(name, {}).get(unquote(rest.partition("/")[2]))
            if content is None:
                return self._send(b"{}", status=404, error="EntryNotFound")
            return self._send(content, etag=_etag(content))

        def _json(self, value: Any) -> None:
            self._send(json.dumps(value).encode(), kind="application/json")

        def _send(
            self,
            content: bytes,
            *,
            status: int = 200,
            error: str = "",
            etag: str = "",
            kind: str = "application/octet-stream",
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Repo-Commit", SHA)
            if error:
                self.send_header("X-Error-Code", error)
            if etag:
                self.send_header("ETag", f'"{etag}"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _etag(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()

"""A fake Hugging Face hub on this machine: repositories in memory, over real HTTP.

It answers the requests with which the client downloads a snapshot and commits files, so that tests
can use the real client without a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Files = dict[str, bytes]


def commit_id(files: Files) -> str:
    """Return the commit id: the SHA-1 of all files."""
    digest = hashlib.sha1()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name] + b"\0")
    return digest.hexdigest()


class HubHandler(BaseHTTPRequestHandler):
    """Handles the requests to one server.

    Attributes:
        repositories: {name: {revision: files}}.
        gated: names of repositories to which the client has no access.
        log: method and path of every request.
        url: address of the server.
    """

    protocol_version = "HTTP/1.1"
    repositories: ClassVar[dict[str, dict[str, Files]]]
    gated: ClassVar[set[str]]
    log: ClassVar[list[str]]
    url: ClassVar[str]

    def log_message(self, format: str, *args: Any) -> None:
        self.log.append(f"{self.command} {self.path}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^?]+)", path):
            self._send_repository_data(*match.groups())
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            files = self._find_files(match[1], match[2])
            if files is not None:
                content = files[match[3]]
                etag = f'"{hashlib.sha1(content).hexdigest()}"'
                commit = commit_id(files)
                self._send(content, {"ETag": etag, "X-Repo-Commit": commit})
        else:
            self._send_error(404, "EntryNotFound")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._read_chunks()
        if self.headers.get("Authorization") != "Bearer may-write":
            self._send_error(401, "")
        elif self.path == "/api/repos/create":
            request = json.loads(body)
            name = f"{request['organization']}/{request['name']}"
            self.repositories.setdefault(name, {"main": {}})
            self._send_json({"url": f"{self.url}/{name}", "id": name})
        elif "/preupload/" in self.path:
            paths = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]
            self._send_json({"files": modes})
        elif match := re.match(r"/api/models/([^/]+/[^/]+)/commit/main", self.path):
            files = self.repositories[match[1]]["main"]
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            commit = commit_id(files)
            url = f"{self.url}/{match[1]}/commit/{commit}"
            self._send_json({"success": True, "commitOid": commit, "commitUrl": url})
        else:
            self._send_json({})  # for example a request to validate a model card

    def _send_repository_data(self, name: str, kind: str, revision: str) -> None:
        files = self._find_files(name, revision.replace("%2F", "/"))
        if files is None:
            return
        if kind == "revision":
            siblings = [{"rfilename": file} for file in files]
            self._send_json({"id": name, "sha": commit_id(files), "siblings": siblings, "tags": []})
        else:
            self._send_json(
                [
                    {
                        "type": "file",
                        "path": file,
                        "size": len(content),
                        "oid": hashlib.sha1(content).hexdigest(),
                    }
                    for file, content in files.items()
                ]
            )

    def _find_files(self, name: str, revision: str) -> Files | None:
        """Return the files of a revision; None after an error was sent."""
        if name in self.gated:
            self._send_error(403, "GatedRepo")
        elif name not in self.repositories:
            self._send_error(404, "RepoNotFound")
        else:
            revisions = self.repositories[name]
            for revision_name, files in revisions.items():
                if revision in (revision_name, commit_id(files)):
                    return files
            self._send_error(404, "RevisionNotFound")
        return None

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send_json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send_error(self, status: int, code: str) -> None:
        self._send(b"{}", {"X-Error-Code": code, "X-Error-Message": "no"}, status)

    def _send(self, content: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def hub_server() -> Iterator[type[HubHandler]]:
    """Run a new server; yield its handler, with `url`, `repositories`, `gated` and `log`."""
    handler: type[HubHandler] = type("Handler", (HubHandler,), {"repositories": {}, "gated": set()})
    handler.log = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

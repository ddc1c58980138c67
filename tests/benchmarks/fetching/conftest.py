"""Mirrors on this machine."""

import http.server
import threading
from collections.abc import Callable, Iterator

import pytest


class MirrorHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[dict[str, bytes]], http.server.HTTPServer]]:
    servers = []

    def start(files: dict[str, bytes]) -> http.server.HTTPServer:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), MirrorHandler)
        server.files, server.requests = files, []
        server.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()

"""A browser that asks the service of streams and logs, without a server between them."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.store.users import User
from portal.live.service import LiveService


@dataclass
class LiveAnswer:
    status_code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""

    @property
    def text(self) -> str:
        return self.data.decode()

    async def take(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status_code = message["status"]
            self.headers = {name.decode().title(): value.decode() for name, value in message["headers"]}
        else:
            self.data += message.get("body", b"")


class LiveBrowser:
    """Signed in; each answer comes whole, so that it opens no stream but a HEAD's."""

    def __init__(self, cluster: Cluster, user: User) -> None:
        self.service = LiveService(cluster)
        self.token = sessions.begin_session(cluster, user.id, "192.0.2.1", "a test")
        self.cookie = f"gc_session_{cluster.settings.port}={self.token}"

    def get(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, **query: object
    ) -> LiveAnswer:
        return asyncio.run(self.ask(path, method, headers, **query))

    async def ask(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, **query: object
    ) -> LiveAnswer:
        path, _, asked = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": (asked or urlencode(query)).encode(),
            "headers": [
                (name.lower().encode(), value.encode())
                for name, value in {"Cookie": self.cookie, **(headers or {})}.items()
            ],
        }
        answer = LiveAnswer()
        await self.service(scope, stay, answer.take)
        return answer


async def stay() -> MutableMapping[str, Any]:
    """The browser keeps its end open."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}

"""The client of the Docker Engine API 1.40 and later, through its socket and the docker package."""

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, cast

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from cluster.domain.errors import Unavailable

START_SECONDS = 20.0
CONNECT_SECONDS = 5.0
"""Seconds that one answer may take. The scheduler waits for it and holds a lease of 10 s meanwhile."""
REST_SECONDS = 5.0
"""Seconds without requests after a request without an answer. The next ones would get no answer either, and each wait
is long.
"""
CONFLICT, NOT_MODIFIED = 409, 304
LOG_LINES = 5


class EngineUnreachable(Unavailable):
    """The engine does not answer, or answers that it cannot do so now."""


class EngineRefused(Exception):
    """The engine refuses a request. The message is its reason."""


class ContainerExists(EngineRefused):
    """A container of this name exists."""


class ImageMissing(EngineRefused):
    """The image is not on this machine. No code here pulls it."""


class DockerEngine:
    """The client. It connects at the first request, so that a service can start while the engine is down."""

    def __init__(self, path: str, ask_seconds: float = CONNECT_SECONDS) -> None:
        self.socket = path
        self.ask_seconds = ask_seconds
        self._client: Any = None
        self._swapping = threading.Lock()
        self._rests_until = float("-inf")

    @contextmanager
    def _answering(self, seconds: float = 0) -> Any:
        if time.monotonic() < self._rests_until:
            raise EngineUnreachable("engine.silent", socket=self.socket)
        try:
            client = self._connect()
            client.timeout = seconds or self.ask_seconds
            yield client
        except APIError as error:
            if not error.is_client_error() and not error_text(error):
                raise EngineUnreachable("engine.silent", socket=self.socket) from error
            raise
        except (DockerException, requests.RequestException, OSError) as error:
            self.close()
            if is_timeout(error):
                self._rests_until = time.monotonic() + REST_SECONDS
            raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def _connect(self) -> Any:
        """Connects once, although several threads may ask: one that fails would close the client of the others."""
        client = self._client
        if client is not None:
            return client
        self._knock()
        made = docker.APIClient(f"unix://{self.socket}", version="auto", timeout=self.ask_seconds)
        with self._swapping:
            client = self._client = self._client or made
        if client is not made:
            made.close()
        return client

    def _knock(self) -> None:
        """Raises OSError if no engine listens on the socket. The docker package would then leave its socket open."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(self.ask_seconds)
            probe.connect(self.socket)

    def create(self, name: str, request: Mapping[str, Any]) -> str:
        """Creates the container without starting it and returns its id. Raises ContainerExists, ImageMissing,
        EngineRefused.
        """
        try:
            with self._answering(START_SECONDS) as client:
                return cast(str, client.create_container_from_config(dict(request), name)["Id"])
        except NotFound as error:
            raise ImageMissing(error_text(error)) from error
        except APIError as error:
            raise (ContainerExists if error.status_code == CONFLICT else EngineRefused)(
                error_text(error)
            ) from error

    def start(self, container: str) -> None:
        """Starts the container; can be repeated. Raises EngineRefused."""
        try:
            with self._answering(START_SECONDS) as client:
                client.start(container)
        except APIError as error:
            raise EngineRefused(error_text(error)) from error

    def inspect(self, container: str) -> dict[str, Any] | None:
        """The container with this id or name, or None."""
        try:
            with self._answering() as client:
                return cast(dict[str, Any], client.inspect_container(container))
        except NotFound:
            return None
        except APIError as error:
            raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def list_containers(self, label: str) -> list[dict[str, Any]]:
        """Every container with this label, in any state: `Id`, `State` and `Labels`."""
        try:
            with self._answering() as client:
                return cast(list[dict[str, Any]], client.containers(all=True, filters={"label": label}))
        except APIError as error:
            raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def signal(self, container: str, name: str) -> None:
        """Signals the container's first process. Does nothing if it does not run."""
        try:
            with self._answering() as client:
                client.kill(container, name)
        except APIError as error:
            if not error.is_client_error():
                raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def remove(self, container: str) -> None:
        """Removes a container that does not run and its anonymous volumes; can be repeated."""
        try:
            with self._answering() as client:
                client.remove_container(container, v=True)
        except APIError as error:
            if not error.is_client_error():
                raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def read_last_log_lines(self, container: str) -> str:
        """The last output of the container's first process, on one line."""
        try:
            with self._answering() as client:
                text = client.logs(container, tail=LOG_LINES)
        except APIError:
            return ""
        return " ".join(text.decode(errors="replace").split())[-400:]

    def ensure_network(self, name: str, labels: Mapping[str, str]) -> None:
        """Creates a bridge that reaches the outside but no other container. Raises EngineRefused."""
        try:
            with self._answering() as client:
                if not client.networks(names=[name]):
                    client.create_network(name, driver="bridge", labels=dict(labels), check_duplicate=True)
        except APIError as error:
            if error.status_code != CONFLICT:
                raise EngineRefused(error_text(error)) from error

    def list_networks(self, label: str) -> list[dict[str, Any]]:
        try:
            with self._answering() as client:
                return cast(list[dict[str, Any]], client.networks(filters={"label": label}))
        except APIError as error:
            raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def remove_network(self, network: str) -> None:
        """Removes the network unless it is in use; can be repeated."""
        try:
            with self._answering() as client:
                client.remove_network(network)
        except APIError as error:
            if not error.is_client_error():
                raise EngineUnreachable("engine.silent", socket=self.socket) from error

    def close(self) -> None:
        with self._swapping:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def is_timeout(error: BaseException | None) -> bool:
    """Whether the error is a timeout, even if the docker package has wrapped it."""
    while error is not None:
        if isinstance(error, requests.Timeout | TimeoutError):
            return True
        error = error.__cause__ or error.__context__
    return False


def error_text(error: APIError) -> str:
    return str(error.explanation or "")

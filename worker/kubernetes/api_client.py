"""The only client of the Kubernetes API server: dictionaries in and out, with a time limit on every request.

Connection, certificates and tokens are the official client's; its thousand classes of objects are not used, because
what is sent here are dictionaries that a test can read (docs/decisions/2026-11-21-kubernetes-through-one-door.md).
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cluster.domain.errors import Unavailable
from worker.kubernetes.object_kinds import KINDS

ASK_SECONDS = 5.0
"""Seconds that one answer may take. The scheduler waits for it and holds a lease of 10 s meanwhile."""
REST_SECONDS = 5.0
"""Seconds without requests after a request without an answer. The next ones would get no answer either, and each wait
is long.
"""
FIELD_MANAGER = "groundcrew"
MOST_CONNECTIONS = 16
UNAUTHORISED, NOT_FOUND, CONFLICT, TOO_MANY = 401, 404, 409, 429
READ_ONLY_CALLS = frozenset({"get", "list_all", "watch", "close"})
"""The methods that change nothing in the cluster."""
EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED"})
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"

KubernetesObject = dict[str, Any]
"""A Kubernetes object as the API represents it."""


class ApiUnreachable(Unavailable):
    """The API server does not answer, answers that it cannot do so now, or no longer accepts our credentials."""


class ApiRefused(Exception):
    """The API server refuses a request: the HTTP `status`, the `reason` in one word, and its `message`."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class ApiConflict(ApiRefused):
    """Somebody else has changed the object or its quota at the same time."""


class ObjectExists(ApiConflict):
    """An object of this name exists."""


@dataclass(frozen=True)
class ObjectList:
    """A list of objects, and the version of the cluster that it shows."""

    things: Sequence[KubernetesObject]
    version: str


class KubernetesApi:
    """The client. It connects at the first request, so that a service can start while the API server is down.

    Every method raises ApiUnreachable. Methods that write also raise ApiRefused.
    """

    def __init__(self, kubeconfig: Path, ask_seconds: float = ASK_SECONDS) -> None:
        self.kubeconfig = kubeconfig
        self.ask_seconds = ask_seconds
        self._client: Any = None
        self._swapping = threading.Lock()
        self._rests_until = float("-inf")

    def create(self, thing: KubernetesObject) -> KubernetesObject:
        """Raises ObjectExists if there is an object of this name."""
        return self._write("POST", self._path_of(thing, named=False), thing)

    def apply(self, thing: KubernetesObject) -> KubernetesObject:
        """Applies on the server's side: fields that are given get their values, whoever changed them last. Other
        fields stay as they are.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._write("PATCH", self._path_of(thing), thing, query, APPLY)

    def patch(
        self, kind: str, name: str, namespace: str, patch: KubernetesObject, part: str = ""
    ) -> KubernetesObject | None:
        """Merges `patch` into the object, or into its part, as `status`. Returns None if there is no such object."""
        path = KINDS[kind].path(namespace, name) + (f"/{part}" if part else "")
        with ignoring_not_found():
            return self._write("PATCH", path, patch, kind=MERGE)
        return None

    def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        with ignoring_not_found():
            return self._ask("GET", KINDS[kind].path(namespace, name))
        return None

    def list_all(self, kind: str, labels: str = "", namespace: str = "", fields: str = "") -> ObjectList:
        """`labels` and `fields` are selectors. Without a namespace the objects of all namespaces are listed."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        told = self._ask("GET", KINDS[kind].path(namespace), {k: v for k, v in query.items() if v})
        if told.get("kind") != f"{kind}List":
            raise self._silence()  # A proxy in between answered, which must not be read as an empty list.
        own = {"apiVersion": KINDS[kind].version, "kind": kind}
        return ObjectList(
            [own | each for each in told.get("items") or ()], told["metadata"]["resourceVersion"]
        )

    def watch(self, kind: str, version: str, seconds: int) -> Iterator[tuple[str, KubernetesObject]]:
        """Yields the events of objects of this kind after `version`, for so many seconds: ADDED, MODIFIED or DELETED,
        and the object. It ends early if the API server no longer knows the version.
        """
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        with (
            self._answering(seconds + self.ask_seconds) as send,
            closing(send("GET", KINDS[kind].path(), query)) as answer,
        ):
            for line in answer:
                told = json.loads(line)
                if told["type"] not in EVENTS:
                    return
                yield told["type"], {"apiVersion": KINDS[kind].version, "kind": kind} | told["object"]

    def delete(
        self, kind: str, name: str, namespace: str = "", uid: str = "", grace_seconds: int | None = None
    ) -> bool:
        """Deletes the object and, in the background, what it owns. Returns False if there is none.

        With `uid` only that very object is deleted. `grace_seconds` replaces a pod's own grace time; 0 does not wait
        for its kubelet.
        """
        body: KubernetesObject = {"propagationPolicy": "Background"}
        body |= {"preconditions": {"uid": uid}} if uid else {}
        body |= {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        with ignoring_not_found():
            self._write("DELETE", KINDS[kind].path(namespace, name), body)
            return True
        return False

    def _path_of(self, thing: KubernetesObject, named: bool = True) -> str:
        about = thing["metadata"]
        return KINDS[thing["kind"]].path(about.get("namespace", ""), about["name"] if named else "")

    def _write(
        self,
        method: str,
        path: str,
        body: KubernetesObject,
        query: Mapping[str, str] | None = None,
        kind: str = "",
    ) -> KubernetesObject:
        return self._ask(method, path, query or {"fieldManager": FIELD_MANAGER}, body, kind)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: KubernetesObject | None = None,
        kind: str = "",
    ) -> KubernetesObject:
        with self._answering() as send, closing(send(method, path, query, body, kind)) as answer:
            told = json.loads(answer.data)
        return told if isinstance(told, dict) else {}

    @contextmanager
    def _answering(self, read_seconds: float = 0) -> Iterator[Any]:
        """Yields a function that sends one request and returns the open answer, which may pause for `read_seconds`."""
        import urllib3  # The client brings urllib3. Both are loaded only by those who use Kubernetes.
        from kubernetes import client, config

        if time.monotonic() < self._rests_until:
            raise self._silence()
        limit = (self.ask_seconds, read_seconds or self.ask_seconds)
        try:
            connected = self._connect()
            yield lambda *asked: send_request(connected, limit, *asked)
        except client.ApiException as error:
            status = int(error.status or 0)
            if status in (0, UNAUTHORISED):
                self.close()  # Certificates or token have changed, so the file is read again.
            if status in (0, UNAUTHORISED, TOO_MANY) or status >= 500:
                raise self._silence() from error
            raise api_error(status, parse_status(error.body)) from error
        except (urllib3.exceptions.HTTPError, config.ConfigException, OSError, ValueError) as error:
            self.close()
            if isinstance(getattr(error, "reason", error), urllib3.exceptions.TimeoutError):
                self._rests_until = time.monotonic() + REST_SECONDS
            raise self._silence() from error

    def _silence(self) -> ApiUnreachable:
        return ApiUnreachable("kubernetes.silent", kubeconfig=str(self.kubeconfig))

    def _connect(self) -> Any:
        """Connects once, although several threads may ask at the same time."""
        # The import takes a second and 90 MB, so only those who use Kubernetes do it.
        from kubernetes import client, config
        from urllib3 import Retry

        with self._swapping:
            if self._client is None:
                settings = client.Configuration()
                settings.retries = Retry(0)
                settings.connection_pool_maxsize = MOST_CONNECTIONS
                settings.proxy = None  # The machine's proxy for the internet does not lead to the API server.
                try:
                    config.load_kube_config(str(self.kubeconfig), client_configuration=settings)
                except (yaml.YAMLError, TypeError, AttributeError) as nonsense:
                    raise config.ConfigException(f"{self.kubeconfig} is no connection file") from nonsense
                self._client = client.ApiClient(settings)
            return self._client

    def close(self) -> None:
        with self._swapping:
            client, self._client = self._client, None
        if client is not None:
            client.rest_client.pool_manager.clear()
            client.close()


def send_request(
    client: Any,
    limit: tuple[float, float],
    method: str,
    path: str,
    query: Mapping[str, str] | None = None,
    body: KubernetesObject | None = None,
    kind: str = "",
) -> Any:
    """Returns the open answer. Raises what the client raises."""
    answer, _, _ = client.call_api(
        path,
        method,
        query_params=list((query or {}).items()),
        header_params={"Accept": "application/json", "Content-Type": kind or "application/json"},
        body=body,
        auth_settings=["BearerToken"],
        _preload_content=False,
        _request_timeout=limit,
    )
    return answer


@contextmanager
def ignoring_not_found() -> Iterator[None]:
    """Ignores that an object does not exist, which is no error for a deletion or a reading."""
    try:
        yield
    except ApiRefused as refusal:
        if refusal.status != NOT_FOUND:
            raise


def parse_status(body: object) -> KubernetesObject:
    """The `Status` object of a refusal. Empty if a proxy in between answered something else."""
    with suppress(ValueError, TypeError):
        told = json.loads(body)  # type: ignore[arg-type]
        if isinstance(told, dict):
            return told
    return {"message": str(body or "")[:400]}


def api_error(status: int, told: KubernetesObject) -> ApiRefused:
    reason = str(told.get("reason") or "")
    kind = ApiConflict if status == CONFLICT else ApiRefused
    kind = ObjectExists if (status, reason) == (CONFLICT, "AlreadyExists") else kind
    return kind(status, reason, str(told.get("message") or ""))

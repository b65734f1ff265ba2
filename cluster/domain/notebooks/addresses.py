"""The address at which a browser reaches a notebook.

A notebook runs its person's code in the browser too, so it never has the portal's origin. Browsers separate cookies by
host and not by port: an own host name therefore separates more than an own port.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from cluster.domain.notebooks.jupyter_server import base_path

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
LOOPBACK_SUFFIX = "localhost"
"""Browsers resolve every name below `localhost` to their own machine, so that these names work through a tunnel too."""
LABEL = "nb-"


class NotebookSeparation(StrEnum):
    """The kind of address that keeps the pages of a notebook apart from those of the portal."""

    OWN_NAME_EACH = "own_name_each"
    OWN_NAME = "own_name"
    OWN_PORT = "own_port"


@dataclass(frozen=True)
class NotebookAddress:
    """How all notebooks of an installation are reached."""

    scheme: str
    separation: NotebookSeparation
    host: str
    """The name that follows `nb-<job>.`, the one name of all, or the portal's host."""
    port: int | None
    """The port; None: the one that the scheme implies."""

    def origin(self, job: int) -> str:
        each = self.separation is NotebookSeparation.OWN_NAME_EACH
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{f'{LABEL}{job}.' if each else ''}{self.host}{port}"

    def url(self, job: int, path: str) -> str:
        return f"{self.origin(job)}{base_path(job)}{path}"

    @property
    def server_names(self) -> tuple[str, ...]:
        """The names of nginx's `server_name`. If there is none, the port alone says which server is meant."""
        if self.separation is NotebookSeparation.OWN_NAME_EACH:
            host = self.host.replace(".", "\\.")
            return (f'"~^{LABEL}[0-9]+\\.{host}$"',)
        return (self.host,) if self.separation is NotebookSeparation.OWN_NAME else ()


def choose_notebook_address(setting: str, public_url: str, port: int) -> NotebookAddress:
    """`setting` is a name, `*.` and a name, `:` and a port, or empty. If it is empty, the address of the portal
    decides.
    """
    portal = urlsplit(public_url)
    scheme, host = portal.scheme, portal.hostname or "127.0.0.1"
    if setting.startswith(":"):
        return NotebookAddress(scheme, NotebookSeparation.OWN_PORT, bracketed(host), int(setting[1:]))
    if setting.startswith("*."):
        return NotebookAddress(scheme, NotebookSeparation.OWN_NAME_EACH, setting[2:], portal.port)
    if setting:
        return NotebookAddress(scheme, NotebookSeparation.OWN_NAME, setting, portal.port)
    if host in LOOPBACK_HOSTS:
        return NotebookAddress(scheme, NotebookSeparation.OWN_NAME_EACH, LOOPBACK_SUFFIX, portal.port)
    return NotebookAddress(scheme, NotebookSeparation.OWN_PORT, bracketed(host), port + 1)


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host

"""The actor of a request: a person, an API token or the installation itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Actor:
    """A person or a service of the installation, as the audit entry names it.

    `scopes` limits what an API token may do (None: a signed-in person, no limit); `address` is the client's address;
    `request_id` is the same in log lines, audit and answer; `token_id` is the API token that the request came with.
    """

    user_id: int
    name: str
    is_administrator: bool = False
    address: str = ""
    request_id: str = ""
    scopes: frozenset[str] | None = None
    token_id: int | None = None

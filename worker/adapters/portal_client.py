"""The REST client by which a node's agent posts its heartbeats to the portal."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from cluster.portal_paths import HEARTBEATS

PATIENCE_SECONDS = 10.0


class PortalClient:
    """The client. `authority` is the certificate authority to trust; None: those that the machine trusts."""

    def __init__(self, url: str, authority: Path | None, token_file: Path) -> None:
        context = ssl.create_default_context(cafile=str(authority) if authority else None)
        self.token_file = token_file
        self.client = httpx.Client(base_url=url, verify=context, timeout=PATIENCE_SECONDS)

    def post_heartbeat(
        self, boot_id: str, facts: Mapping[str, Any], units: Sequence[Mapping[str, Any]]
    ) -> None:
        """Raises httpx.HTTPError. The token is read for each request, so that a new one takes effect at once."""
        token = self.token_file.read_text().strip()
        self.client.post(
            HEARTBEATS,
            headers={"Authorization": f"Bearer {token}"},
            json={"boot_id": boot_id, "facts": facts, "units": units},
        ).raise_for_status()

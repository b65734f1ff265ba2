"""The sources from which uv takes packages: the site's index, and a folder of wheels."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.environments.package_index import NO_INDEX
from worker.environments.command_runner import network_variables


@dataclass(frozen=True)
class PackageSource:
    """`index` is an address, `NO_INDEX`, or empty for the one that this machine is configured for."""

    index: str = ""
    folder: Path | None = None
    uploads: Path | None = None
    """The folder of wheels that administrators have uploaded."""

    @property
    def folders(self) -> list[Path]:
        return [folder for folder in (self.folder, self.uploads) if folder is not None]

    def variables(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Variables of uv. An address with a password is in no command line, which everybody could read."""
        known = {
            name: value for name, value in network_variables(environment).items() if name not in PIP_ONLY
        }
        for theirs, ours in FROM_PIP.items():
            if theirs in known:
                known.setdefault(ours, known.pop(theirs))
        if self.index == NO_INDEX:
            known.pop("UV_DEFAULT_INDEX", None)
        elif self.index:
            known["UV_DEFAULT_INDEX"] = self.index
        links = [str(folder) for folder in self.folders]
        links += [word for word in known.pop("PIP_FIND_LINKS", "").split() if not self.index]
        if links:
            known["UV_FIND_LINKS"] = ",".join(links)
        return known

    @property
    def options(self) -> list[str]:
        """Switches of uv, which has no variable for them."""
        return ["--no-index"] if self.index == NO_INDEX else []

    @property
    def secrets(self) -> list[str]:
        """Parts of the address that no log may show."""
        user, sign, _ = self.index.partition("://")[2].partition("@")
        return [user] if sign else []


FROM_PIP = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_CERT": "SSL_CERT_FILE"}
PIP_ONLY = frozenset(
    {"HOME", "XDG_CONFIG_HOME", "PIP_CONFIG_FILE", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CLIENT_CERT"}
    | {"PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_KEYRING_PROVIDER", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"}
    | {"PIP_RETRIES"}
)
"""The variables that pip alone understands."""

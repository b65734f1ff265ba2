"""Where one clone keeps its state and where the machine keeps what every clone shares.

Standard library only: the bootstrap reads it before any package is installed.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Places:
    """The folders of one installation made by ``make up``."""

    clone: Path
    state: Path
    cache: Path

    @property
    def environment_file(self) -> Path:
        """The settings that the running services read."""
        return self.state / "groundcrew.env"

    @property
    def supervisor_file(self) -> Path:
        return self.state / "supervisord.conf"

    @property
    def supervisor_socket(self) -> Path:
        return self.state / "run" / "supervisor.sock"

    @property
    def redis_socket(self) -> Path:
        return self.state / "run" / "redis.sock"

    @property
    def nginx(self) -> Path:
        """What nginx and its group may read: configuration, certificate, static files, the portal's socket."""
        return self.state / "nginx"

    @property
    def portal_socket(self) -> Path:
        return self.nginx / "portal.sock"

    @property
    def database_file(self) -> Path:
        return self.state / "database" / "groundcrew.db"

    @property
    def tls(self) -> Path:
        """The authority and the certificate of ``make up HOST=…``."""
        return self.state / "tls"

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def environment_pointer(self) -> Path:
        """A link to the environment that the last ``make up`` used, so that ``make down`` finds it."""
        return self.state / "environment"


def find_places(clone: Path = CLONE) -> Places:
    """Say where this clone keeps its things: the machine's folders for root, else the user's own."""
    short = hashlib.sha256(str(clone).encode()).hexdigest()[:12]
    if os.geteuid() == 0:
        state, cache = Path("/var/lib/groundcrew"), Path("/var/cache/groundcrew")
    else:
        home = Path.home()
        state = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "groundcrew"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "groundcrew"
    named_state = os.environ.get("GROUNDCREW_STATE_DIR")
    named_cache = os.environ.get("GROUNDCREW_CACHE_DIR")
    return Places(
        clone=clone,
        state=Path(named_state) if named_state else state / short,
        cache=Path(named_cache) if named_cache else cache,
    )

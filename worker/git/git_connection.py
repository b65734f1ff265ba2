"""Decides how git connects to a server: to addresses that were checked, as whom, and with which credential."""

import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from cluster.domain.errors import Unavailable
from cluster.domain.git.git_sources import GitTarget, check_addresses, parse_git_target
from cluster.domain.jobs.unix_ids import UnixIds
from cluster.domain.notifications.webhook_targets import IpNetwork
from cluster.domain.states import GitCredential
from cluster.services.git.fetch_orders import FetchOrder
from worker.git.git_process import GitLimits, quote_words

WORK = Path("/var/tmp")
"""A folder that everybody may enter, as the user without rights has to. On servers the services have their own."""
KEY, KNOWN_HOSTS, CREDENTIALS = "key", "known_hosts", "credentials"
UNPRIVILEGED = UnixIds(65534, 65534)
"""The user nobody."""


@dataclass(frozen=True)
class FetchRules:
    """The administrator's limits, and the user as which git runs. `authority` is trusted in addition to the machine's
    own authorities.
    """

    allowed_hosts: Collection[str]
    cluster_networks: Collection[IpNetwork]
    unicode_names: bool
    ids: UnixIds | None = None
    limits: GitLimits = GitLimits()
    authority: Path | None = None
    work: Path = WORK


@dataclass(frozen=True)
class GitConnection:
    """The connection of one fetch in its folder. Raises Refused for an address that is not allowed."""

    order: FetchOrder
    rules: FetchRules
    folder: Path
    target: GitTarget = field(init=False)
    addresses: list[str] = field(init=False)

    def __post_init__(self) -> None:
        target = parse_git_target(self.order.url)
        addresses = resolve_addresses(target)
        check_addresses(target, addresses, self.rules.allowed_hosts, self.rules.cluster_networks)
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "addresses", addresses)

    @property
    def about(self) -> dict[str, str]:
        return {"host": self.target.host, "reference": self.order.reference or "HEAD"}

    @property
    def ids(self) -> UnixIds | None:
        """ssh works only for users that the machine knows, so with ssh git runs as the user nobody."""
        is_nobody = self.rules.ids is not None and self.target.scheme == "ssh"
        return UNPRIVILEGED if is_nobody else self.rules.ids

    @property
    def options(self) -> dict[str, str]:
        options = {f"protocol.{self.target.scheme}.allow": "always"}
        if self.target.scheme == "https":
            shown = ",".join(f"[{each}]" if ":" in each else each for each in self.addresses)
            options["http.curloptResolve"] = f"{self.target.host}:{self.target.port}:{shown}"
        if self.rules.authority is not None:
            options["http.sslCAInfo"] = str(self.rules.authority)
        if self.order.credential is GitCredential.TOKEN:
            # git runs it by a shell. It reads the token from a file that only git's user may read.
            options["credential.helper"] = f"store --file={quote_words([str(self.folder / CREDENTIALS)])}"
        return options

    @property
    def variables(self) -> dict[str, str]:
        if self.target.scheme != "ssh":
            return {}
        options = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": str(self.folder / KEY),
            "UserKnownHostsFile": str(self.folder / KNOWN_HOSTS),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "accept-new",
            "HashKnownHosts": "no",
            "CheckHostIP": "no",
            "UpdateHostKeys": "no",
            "HostKeyAlias": self.target.host,
            "HostName": self.addresses[0],
            "ProxyCommand": "none",
            "PreferredAuthentications": "publickey",
            "ForwardAgent": "no",
            "ForwardX11": "no",
            "ClearAllForwardings": "yes",
            "PermitLocalCommand": "no",
            "ConnectTimeout": "20",
            "ServerAliveInterval": "15",
            "LogLevel": "ERROR",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return {"GIT_SSH_COMMAND": quote_words(["ssh", "-F", "none", *words]), "GIT_SSH_VARIANT": "ssh"}

    @property
    def private_files(self) -> dict[str, str]:
        """The contents by name of files for git's user alone."""
        files = {KNOWN_HOSTS: self.order.known_hosts}
        if self.order.credential is GitCredential.TOKEN:
            login = f"{quote(self.order.user_name, safe='')}:{quote(self.order.secret, safe='')}"
            files[CREDENTIALS] = f"https://{login}@{urlsplit(self.target.url).netloc}\n"
        if self.order.credential is GitCredential.DEPLOY_KEY:
            files[KEY] = self.order.secret
        return files


def resolve_addresses(target: GitTarget) -> list[str]:
    """Returns at least one numeric address, without repetitions. Raises Unavailable."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable("git.host_unknown", host=target.host) from error
    return list(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))

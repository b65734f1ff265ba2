"""Check the address, the reference and the credential of a git source, and decide which addresses git may call."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from cluster.domain.errors import Refused
from cluster.domain.names import check_file_path
from cluster.domain.notifications.webhook_targets import IpNetwork, is_callable_address
from cluster.domain.states import GitCredential

PORTS = {"https": 443, "ssh": 22}
LONGEST_URL = 500
LONGEST_REFERENCE = 200
LONGEST_FOLDER = 300
LONGEST_TOKEN = 1000
DEFAULT_USER = "git"
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
SHORT_ADDRESS = re.compile(r"(?P<user>[^@/:]+)@(?P<host>[^@/:]+):(?P<path>[^/:][^:]*)")
"""The short form of ssh, as `git@host:group/name.git`."""
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REFERENCE = re.compile(r"\w[\w./+@=-]*")
NOT_IN_REFERENCE = ("..", "//", "/.", "@{", ".lock/")


@dataclass(frozen=True)
class GitTarget:
    """The place to which an address leads, before its host is resolved. git is given `url`."""

    scheme: str
    user: str
    host: str
    port: int
    url: str

    def is_named(self, hosts: Collection[str]) -> bool:
        """An entry without a port stands for the usual port of https and ssh."""
        is_usual_port = self.port == PORTS[self.scheme]
        return f"{self.host}:{self.port}" in hosts or (is_usual_port and self.host in hosts)

    def is_same_repository(self, other: "GitTarget") -> bool:
        """Whether both are the same, also if only one of the addresses ends in .git or in a slash."""
        first, second = (each.url.rstrip("/").removesuffix(".git") for each in (self, other))
        return (self.host, self.port) == (other.host, other.port) and first == second


def parse_git_target(url: str) -> GitTarget:
    """Raises Refused on `url` for everything but https and ssh, and for what two programs could read differently."""
    url = url.strip()
    is_plain = url.isascii() and url.isprintable() and not set(url) & set(" \\\"'<>^`{|}$?#%*;&!()[]")
    if not url or len(url) > LONGEST_URL or not is_plain or "::" in url:
        raise Refused("url", "git.address_unusable")
    short = SHORT_ADDRESS.fullmatch(url)
    if short is not None and "://" not in url:
        return check_target("ssh", short["user"], short["host"], None, short["path"], url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("url", "git.address_unusable") from None
    if parts.scheme not in PORTS or "://" not in url:
        raise Refused("url", "git.address_scheme", schemes=sorted(PORTS))
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise Refused("url", "git.address_has_secret")
    return check_target(
        parts.scheme, parts.username or "", parts.hostname or "", port, parts.path.lstrip("/"), url
    )


def check_target(scheme: str, user: str, host: str, port: int | None, path: str, url: str) -> GitTarget:
    has_bad_path = not path.strip("/") or path.startswith(("-", "/")) or ".." in path.split("/")
    has_bad_user = bool(user) and not USER.fullmatch(user)
    if not HOST.fullmatch(host) or port == 0 or has_bad_path or has_bad_user:
        raise Refused("url", "git.address_unusable")
    return GitTarget(scheme, user, host.lower(), port or PORTS[scheme], url)


def check_reference(text: str) -> str:
    """Returns the checked branch, tag or whole commit id; empty for the repository's default branch. Raises Refused."""
    text = text.strip()
    if not text:
        return ""
    is_bad = (
        len(text) > LONGEST_REFERENCE
        or not REFERENCE.fullmatch(text)
        or any(part in text for part in NOT_IN_REFERENCE)
        or text.endswith(("/", ".", ".lock"))
    )
    if is_bad:
        raise Refused("reference", "git.reference_unusable", reference=text[:100])
    return text


def is_commit_id(reference: str) -> bool:
    return COMMIT.fullmatch(reference) is not None


def check_source_folder(text: str, unicode_names: bool) -> str:
    """Returns the checked folder of the repository, without slashes around it; empty for the whole repository. Raises
    Refused.
    """
    text = text.strip().strip("/")
    if not text or text == ".":
        return ""
    if len(text) > LONGEST_FOLDER:
        raise Refused("folder", "value.too_long", longest=LONGEST_FOLDER)
    return check_file_path(text, unicode_names, "folder")


def check_credential(target: GitTarget, credential: GitCredential) -> None:
    """A token is for https, a key for ssh. Raises Refused on `credential`."""
    if credential is GitCredential.TOKEN and target.scheme != "https":
        raise Refused("credential", "git.token_needs_https")
    if credential is GitCredential.DEPLOY_KEY and target.scheme != "ssh":
        raise Refused("credential", "git.key_needs_ssh")
    if credential is GitCredential.NONE and target.scheme == "ssh":
        raise Refused("credential", "git.ssh_needs_key")


def check_token(text: str) -> str:
    text = text.strip()
    if not text:
        raise Refused("token", "git.token_missing")
    if len(text) > LONGEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise Refused("token", "git.token_unusable")
    return text


def check_token_user(text: str) -> str:
    """The user name that is sent with a token; most servers accept any."""
    text = text.strip()
    if text and not USER.fullmatch(text):
        raise Refused("user_name", "git.user_name_unusable")
    return text or DEFAULT_USER


def check_addresses(
    target: GitTarget,
    addresses: Sequence[str],
    allowed_hosts: Collection[str],
    cluster_networks: Iterable[IpNetwork],
) -> None:
    """Raises Refused on `url` if one of the host's addresses belongs to this machine or to the cluster's networks,
    unless the administrator has named the host.
    """
    networks = tuple(cluster_networks)
    if not target.is_named(allowed_hosts) and not all(
        is_callable_address(each, networks) for each in addresses
    ):
        raise Refused("url", "git.host_not_allowed", host=f"{target.host}:{target.port}")


def origin_of(url: str, reference: str, folder: str) -> str:
    """Names a source in one line, as Docker names a build context: `https://host/name.git#main:folder`."""
    return f"{url}#{reference}:{folder}"


def is_same_origin(origin: str, url: str, folder: str) -> bool:
    """Whether a version came from this address and folder, from any branch."""
    return origin.startswith(f"{url}#") and origin.endswith(f":{folder}")

"""Fetches one commit from a git server and returns its files, without ever checking it out.

The repository is bare, so that no hook, filter, link or attribute of it takes effect. The host is resolved once, and
git connects to the addresses that were checked.
"""

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from cluster.domain.code_files import LARGEST_CODE_BYTES
from cluster.domain.errors import Refused, Unavailable
from cluster.domain.git.git_sources import GitTarget, check_addresses, is_commit_id, parse_git_target
from cluster.domain.git.git_trees import choose_code_entries, parse_tree, resolve_code_files
from cluster.domain.notifications.webhook_targets import IpNetwork
from cluster.domain.states import GitCredential
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.safe_read import read_small_file
from cluster.services.git.fetch_orders import FetchOrder, GitCommit
from worker.git.git_process import GitLimits, GitProcesses, UnixIds, quote_words, require_usable_git

WORK = Path("/var/tmp")
"""Everybody may enter it, as the user without rights has to, and services have their own on servers."""
WORK_PREFIX = "groundcrew-git-"
FORGOTTEN_SECONDS = 24 * 3600
REPOSITORY, KEY, KNOWN_HOSTS, CREDENTIALS = "repository", "key", "known_hosts", "credentials"
FETCHED = "refs/groundcrew/fetched"
MOST_TREE_BYTES = 16 * 1024**2
MOST_KNOWN_HOSTS = 4000
UNPRIVILEGED = UnixIds(65534, 65534)
"""The user nobody."""


@dataclass(frozen=True)
class FetchRules:
    """What the administrator allows, and as whom git runs. `authority` is trusted beside the machine's own."""

    allowed_hosts: Collection[str]
    cluster_networks: Collection[IpNetwork]
    unicode_names: bool
    ids: UnixIds | None = None
    limits: GitLimits = GitLimits()
    authority: Path | None = None
    work: Path = WORK


@dataclass(frozen=True)
class RemoteCommit:
    """A commit that the server offers, and what to ask for to get it."""

    id: str
    wanted: str


class GitFetch:
    """One fetch in a folder of its own, which is deleted afterwards."""

    def __init__(self, order: FetchOrder, rules: FetchRules, folder: Path) -> None:
        self.order, self.rules, self.folder = order, rules, folder
        self.target = parse_git_target(order.url)
        self.about = {"host": self.target.host, "reference": order.reference or "HEAD"}
        addresses = resolve_addresses(self.target)
        check_addresses(self.target, addresses, rules.allowed_hosts, rules.cluster_networks)
        self.processes = GitProcesses(
            folder,
            rules.limits,
            self.choose_ids(),
            self.connection_options(addresses),
            self.connection_variables(addresses),
            [order.secret],
            self.about,
        )

    def choose_ids(self) -> UnixIds | None:
        """ssh works only for users whom the machine knows, so that for it git runs as nobody."""
        is_nobody = self.rules.ids is not None and self.target.scheme == "ssh"
        return UNPRIVILEGED if is_nobody else self.rules.ids

    def connection_options(self, addresses: list[str]) -> dict[str, str]:
        options = {f"protocol.{self.target.scheme}.allow": "always"}
        if self.target.scheme == "https":
            shown = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
            options["http.curloptResolve"] = f"{self.target.host}:{self.target.port}:{shown}"
        if self.rules.authority is not None:
            options["http.sslCAInfo"] = str(self.rules.authority)
        if self.order.credential is GitCredential.TOKEN:
            # git runs it by a shell. It reads the token from a file that only git's user may read.
            options["credential.helper"] = f"store --file={quote_words([str(self.folder / CREDENTIALS)])}"
        return options

    def connection_variables(self, addresses: list[str]) -> dict[str, str]:
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
            "HostName": addresses[0],
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

    def prepare(self) -> None:
        """Writes the secret for git's user alone, and makes the repository. Raises Unavailable without a usable git."""
        files = {KNOWN_HOSTS: self.order.known_hosts}
        if self.order.credential is GitCredential.TOKEN:
            login = f"{quote(self.order.user_name, safe='')}:{quote(self.order.secret, safe='')}"
            files[CREDENTIALS] = f"https://{login}@{urlsplit(self.target.url).netloc}\n"
        if self.order.credential is GitCredential.DEPLOY_KEY:
            files[KEY] = self.order.secret
        for name, content in files.items():
            write_private_file(self.folder / name, content, self.processes.ids)
        require_usable_git(self.processes)
        self.processes.run("init", "--quiet", "--bare", "--template=", REPOSITORY)

    def find_commit(self) -> RemoteCommit:
        """Asks the server. Raises Refused if it has no such branch or tag."""
        wanted = self.order.reference
        names = (
            ["HEAD"]
            if not wanted
            else [f"refs/heads/{wanted}", f"refs/tags/{wanted}", f"refs/tags/{wanted}^{{}}"]
        )
        if is_commit_id(wanted):
            names = ["HEAD"]
        listing = self.processes.run("ls-remote", self.target.url, *names).decode("utf-8", "replace")
        offered = {
            name: commit for commit, _, name in (line.partition("\t") for line in listing.splitlines())
        }
        if is_commit_id(wanted):
            return RemoteCommit(wanted, wanted)
        branch, tag = names[0], names[1:2]
        if branch in offered:
            return RemoteCommit(offered[branch], branch)
        if tag and tag[0] in offered:
            return RemoteCommit(offered.get(names[2], offered[tag[0]]), tag[0])
        raise Refused(
            "reference", "git.reference_missing" if wanted else "git.repository_empty", **self.about
        )

    def fetch(self, found: RemoteCommit) -> GitCommit:
        """Only this commit, without its history. The branch may have moved since: the answer says what came."""
        self.in_repository(
            "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
            "--no-auto-maintenance", self.target.url, f"+{found.wanted}:{FETCHED}",
        )  # fmt: skip
        form = "%H%x00%an%x00%s"
        facts = self.in_repository(
            "log",
            "-1",
            "--no-mailmap",
            "--no-show-signature",
            "--no-notes",
            "--no-color",
            f"--format={form}",
            FETCHED,
        )
        commit, author, subject, *_ = [*facts.decode("utf-8", "replace").strip().split("\0"), "", ""]
        return GitCommit(commit, plain_text(author), plain_text(subject))

    def read_files(self, commit: GitCommit) -> dict[str, bytes]:
        """Contents by path. Raises Refused before anything large is read."""
        tree = f"{commit.id}:{self.order.folder}"
        try:
            listing = self.in_repository("ls-tree", "-r", "-l", "-z", tree, most=MOST_TREE_BYTES)
        except Refused as refusal:
            if self.order.folder and refusal.code != "git.too_large":
                raise Refused(
                    "folder", "git.folder_missing", folder=self.order.folder, **self.about
                ) from refusal
            raise
        chosen = choose_code_entries(parse_tree(listing), self.rules.unicode_names)
        objects = sorted({entry.object_id for entry in chosen.values()})
        content = self.in_repository(
            "cat-file", "--batch", "--buffer",
            most=2 * LARGEST_CODE_BYTES, input_bytes="".join(f"{each}\n" for each in objects).encode(),
        )  # fmt: skip
        return resolve_code_files(chosen, split_objects(content))

    def in_repository(self, *arguments: str, most: int = 1024**2, input_bytes: bytes = b"") -> bytes:
        return self.processes.run(f"--git-dir={REPOSITORY}", *arguments, most=most, input_bytes=input_bytes)

    def read_known_hosts(self) -> str:
        """The server's key, as ssh has noted it."""
        noted = read_small_file(self.folder, KNOWN_HOSTS, limit=MOST_KNOWN_HOSTS) or b""
        return noted.decode("ascii", "ignore") if self.target.scheme == "ssh" else ""


@contextlib.contextmanager
def open_fetch(order: FetchOrder, rules: FetchRules) -> Iterator[GitFetch]:
    """Raises Refused for an address that is not allowed, before anything is written."""
    name = f"{WORK_PREFIX}{secrets.token_hex(8)}"
    fetch = GitFetch(order, rules, rules.work / name)
    remove_forgotten(rules.work)
    with safe_files.open_folder_path(rules.work) as work:
        with external_call("git_fetch.folder_made"):
            descriptor = safe_files.make_folder(work, name)
        try:
            ids = fetch.processes.ids
            safe_files.set_owner_and_mode(descriptor, 0o700, (ids.uid, ids.gid) if ids else (-1, -1))
            fetch.prepare()
            yield fetch
        finally:
            os.close(descriptor)
            with external_call("git_fetch.folder_removed"):
                safe_files.remove_tree(work, name)


def remove_forgotten(work: Path) -> None:
    """What a killed task has left. Such a folder belongs to nobody else: its name is ours, and its fetch is over."""
    for folder in work.glob(f"{WORK_PREFIX}*"):
        try:
            is_old = folder.stat(follow_symlinks=False).st_mtime < time.time() - FORGOTTEN_SECONDS
        except FileNotFoundError:
            continue
        if is_old:
            with safe_files.open_folder_path(work) as parent:
                safe_files.remove_tree(parent, folder.name)


def resolve_addresses(target: GitTarget) -> list[str]:
    """At least one numeric address, without repetitions. Raises Unavailable."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable("git.host_unknown", host=target.host) from error
    return list(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))


def write_private_file(path: Path, content: str, ids: UnixIds | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if ids is not None:
            os.fchown(descriptor, ids.uid, ids.gid)
        file.write(content)


def split_objects(content: bytes) -> Mapping[str, bytes]:
    """What `git cat-file --batch` has written, by object id. Raises Refused for an object that is missing."""
    found, place = {}, 0
    while place < len(content):
        end = content.index(b"\n", place)
        words = content[place:end].decode("ascii", "replace").split()
        if len(words) != 3 or words[1] != "blob":
            raise Refused("url", "git.unsafe_repository")
        begin, size = end + 1, int(words[2])
        found[words[0]] = content[begin : begin + size]
        place = begin + size + 1
    return found


def plain_text(text: str) -> str:
    """On one line, without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())

"""Fetches one commit from a git server and returns its files, without ever checking it out.

The repository is bare, so that no hook, filter, link or attribute of it takes effect.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.domain.code_files import LARGEST_CODE_BYTES
from cluster.domain.errors import Refused
from cluster.domain.git.git_sources import is_commit_id
from cluster.domain.git.git_trees import choose_code_entries, parse_tree, resolve_code_files
from cluster.files.safe_read import read_small_file
from cluster.services.git.fetch_orders import FetchOrder, GitCommit
from worker.git.fetch_folder import fetch_folder, new_folder_name, write_private_file
from worker.git.git_connection import KNOWN_HOSTS, FetchRules, GitConnection
from worker.git.git_process import GitProcesses, require_usable_git

REPOSITORY = "repository"
FETCHED = "refs/groundcrew/fetched"
MOST_TREE_BYTES = 16 * 1024**2
MOST_KNOWN_HOSTS = 4000


@dataclass(frozen=True)
class RemoteCommit:
    """A commit that the server offers, and the reference by which it is fetched."""

    id: str
    wanted: str


class GitFetch:
    """One fetch in a folder of its own."""

    def __init__(self, connection: GitConnection) -> None:
        self.connection, self.order, self.rules = connection, connection.order, connection.rules
        self.target, self.folder, self.about = connection.target, connection.folder, connection.about
        self.processes = GitProcesses(
            connection.folder,
            connection.rules.limits,
            connection.ids,
            connection.options,
            connection.variables,
            [connection.order.secret],
            connection.about,
        )

    def prepare(self) -> None:
        """Writes the secret for git's user alone, and makes the repository. Raises Unavailable without a usable git."""
        for name, content in self.connection.private_files.items():
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
        """Fetches this commit alone, without its history. The branch may have moved since: the result names the fetched
        commit.
        """
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


@contextmanager
def open_fetch(order: FetchOrder, rules: FetchRules) -> Iterator[GitFetch]:
    """Raises Refused for an address that is not allowed, before anything is written."""
    name = new_folder_name()
    fetch = GitFetch(GitConnection(order, rules, rules.work / name))
    with fetch_folder(rules.work, name, fetch.processes.ids):
        fetch.prepare()
        yield fetch


def split_objects(content: bytes) -> Mapping[str, bytes]:
    """Parses the output of `git cat-file --batch` by object id. Raises Refused for an object that is missing."""
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
    """Returns the text on one line, without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())

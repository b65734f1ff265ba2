"""git fetches from good servers, and hostile ones end in a clear error that leaves nothing."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.domain.errors import GroundcrewError, Refused, Unavailable
from cluster.domain.jobs.unix_ids import UnixIds
from cluster.domain.states import GitCredential
from cluster.services.git.fetch_orders import FetchOrder, GitCommit
from tests.integration.worker.git.git_server import TOKEN, GitServer, Origin, run_git
from worker.git.git_connection import FetchRules
from worker.git.git_fetch import open_fetch
from worker.git.git_process import GitLimits

IDS = UnixIds(1_148_000, 1_148_000) if os.geteuid() == 0 else None
MIB = 1024**2


@dataclass
class Lab:
    server: GitServer
    rules: FetchRules

    def order(self, name: str, reference: str = "", folder: str = "", token: str = "") -> FetchOrder:
        credential = GitCredential.TOKEN if token else GitCredential.NONE
        training = SimpleNamespace(id=7, workspace_id=3)
        return FetchOrder(
            training,  # type: ignore[arg-type]
            self.server.url(name),
            reference,
            folder,
            credential,
            "git",
            "",
            token,
        )

    def fetch(self, order: FetchOrder, rules: FetchRules | None = None) -> tuple[GitCommit, dict[str, bytes]]:
        with open_fetch(order, rules or self.rules) as fetch:
            commit = fetch.fetch(fetch.find_commit())
            return commit, fetch.read_files(commit)

    def refusal(self, order: FetchOrder, rules: FetchRules | None = None) -> GroundcrewError:
        """Nothing is left behind, whatever the server did."""
        with pytest.raises((Refused, Unavailable)) as refused:
            self.fetch(order, rules)
        assert list(self.rules.work.iterdir()) == []
        assert TOKEN not in str(refused.value)
        return refused.value


@pytest.fixture
def lab(git_server: GitServer) -> Lab:
    work = git_server.root.parent / "work"
    work.mkdir(mode=0o755)
    work.chmod(0o755)
    rules = FetchRules([git_server.host], (), False, IDS, GitLimits(seconds=60), git_server.authority, work)
    return Lab(git_server, rules)


def test_a_branch_a_tag_a_folder_and_a_commit_are_fetched(lab: Lab) -> None:
    origin = lab.server.make_origin("net")
    first = origin.commit({"train.py": b"1\n", "src/net.py": b"x\n", "src/deep/a.py": b"y\n"}, "First <b>")
    (origin.path / "src/same.py").symlink_to("net.py")
    second = origin.commit({"train.py": b"2\n"}, "Second")
    run_git(origin.path, "tag", "-a", "v1", "-m", "one", first)
    run_git(origin.path, "branch", "feature/x", first)
    commit, files = lab.fetch(lab.order("net"))
    assert commit == GitCommit(second, "Kim Minji", "Second")
    assert files["train.py"] == b"2\n" and files["src/same.py"] == b"x\n"
    for reference in ("v1", "feature/x", first):
        commit, files = lab.fetch(lab.order("net", reference, "src"))
        assert (commit.id, commit.subject) == (first, "First <b>")
        assert files == {"net.py": b"x\n", "deep/a.py": b"y\n"}
    assert list(lab.rules.work.iterdir()) == []


def test_a_branch_that_was_moved_brings_its_new_commit(lab: Lab) -> None:
    origin = lab.server.make_origin("net")
    origin.commit({"train.py": b"1\n"})
    with open_fetch(lab.order("net", "main"), lab.rules) as fetch:
        found = fetch.find_commit()
        moved = origin.commit({"train.py": b"2\n"}, "Moved")
        commit = fetch.fetch(found)
        assert commit.id == moved != found.id
        assert fetch.read_files(commit) == {"train.py": b"2\n"}


def test_a_token_opens_a_private_repository_and_shows_nowhere(lab: Lab) -> None:
    lab.server.make_origin("private").commit({"train.py": b"1\n"})
    assert lab.refusal(lab.order("private")).code == "git.not_authorised"
    assert lab.refusal(lab.order("private", token="wrong")).code == "git.not_authorised"
    _, files = lab.fetch(lab.order("private", token=TOKEN))
    assert files == {"train.py": b"1\n"}
    assert lab.server.secrets_seen == []


@pytest.mark.parametrize(
    ("name", "reference", "folder", "code"),
    [
        ("net", "nothing", "", "git.reference_missing"),
        ("net", "a" * 40, "", "git.reference_missing"),
        ("net", "", "nothing", "git.folder_missing"),
        ("net", "", "train.py", "git.folder_missing"),
        ("empty", "", "", "git.repository_empty"),
        ("missing", "", "", "git.repository_missing"),
        ("nothing-there", "", "", "git.repository_missing"),
    ],
)
def test_what_is_not_there_is_named(lab: Lab, name: str, reference: str, folder: str, code: str) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    lab.server.make_origin("empty")
    assert lab.refusal(lab.order(name, reference, folder)).code == code


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://127.0.0.1:1/", "https://169.254.169.254/"]
)
def test_no_redirect_is_followed(lab: Lab, location: str) -> None:
    (lab.server.root / "location").write_text(location)
    assert lab.refusal(lab.order("redirect")).code == "git.redirected"


def test_a_redirect_to_a_good_repository_is_not_followed_either(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    (lab.server.root / "location").write_text(lab.server.url("net/info/refs?service=git-upload-pack"))
    assert lab.refusal(lab.order("redirect")).code == "git.redirected"
    assert not any(path.startswith("/net") for path in lab.server.requests)


@pytest.mark.parametrize("name", ["slow", "endless"])
def test_an_answer_without_end_meets_the_deadline_or_the_limit(lab: Lab, name: str) -> None:
    rules = replace(lab.rules, limits=GitLimits(seconds=3, memory_bytes=256 * MIB))
    assert lab.refusal(lab.order(name), rules).code in {
        "git.too_slow",
        "git.too_large",
        "git.unsafe_repository",
    }


def test_a_huge_pack_is_cut_off(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n", "data.bin": os.urandom(3 * MIB)})
    rules = replace(lab.rules, limits=GitLimits(seconds=60, file_bytes=MIB))
    assert lab.refusal(lab.order("net"), rules).code == "git.too_large"


def test_a_small_pack_of_large_files_is_refused_before_they_are_read(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n", "zeros.bin": bytes(21 * MIB)})
    assert lab.refusal(lab.order("net")).code == "code.too_large"


def test_too_many_files_are_refused(lab: Lab) -> None:
    lab.server.make_origin("net").commit({f"f{number}.py": b"1" for number in range(1001)})
    assert lab.refusal(lab.order("net")).code == "code.too_many_files"


def test_submodules_and_links_that_leave_the_tree_are_refused(lab: Lab, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    origin = lab.server.make_origin("net")
    module = f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {proof}"\n'
    first = origin.commit({"train.py": b"1\n", ".gitmodules": module.encode()})
    run_git(origin.path, "update-index", "--add", "--cacheinfo", f"160000,{first},x")
    run_git(origin.path, "commit", "--quiet", "-m", "A submodule")
    refused = lab.refusal(lab.order("net"))
    assert refused.code in {"git.submodule", "git.unsafe_repository"}
    assert not proof.exists()
    for number, target in enumerate(("/etc/passwd", "../../outside", "nothing.py", "folder", "loop")):
        bad = lab.server.make_origin(f"link{number}")
        bad.commit({"train.py": b"1\n", "folder/a.py": b"1\n"})
        (bad.path / "loop").symlink_to(target)
        bad.commit({}, "A link")
        refused = lab.refusal(lab.order(f"link{number}"))
        assert (refused.code, refused.data["target"]) == ("git.link", target)


def test_a_tree_with_the_name_of_a_repository_is_refused(lab: Lab) -> None:
    for number, name in enumerate((".git", ".GIT", "git~1", "..")):
        origin = lab.server.make_origin(f"trick{number}")
        origin.commit({"train.py": b"1\n", "config": b"[core]\n\tfsmonitor = touch /tmp/owned\n"})
        inner = run_tree(origin.blob(b"[core]\n"), "config")
        tree = run_tree_of(origin.blob(b"1\n"), name, inner, origin)
        origin.commit_tree(tree)
        assert lab.refusal(lab.order(f"trick{number}")).code == "git.unsafe_repository"


def run_tree(blob: str, name: str) -> bytes:
    return b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)


def run_tree_of(blob: str, name: str, inner: bytes, origin: Origin) -> bytes:
    folder = run_git(origin.path, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=inner)
    return b"40000 " + name.encode() + b"\0" + bytes.fromhex(folder) + run_tree(blob, "train.py")


def test_a_file_of_git_lfs_is_no_surprise(lab: Lab) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    lab.server.make_origin("net").commit(
        {"train.py": b"1\n", "model.bin": pointer, ".gitattributes": b"*.bin filter=lfs\n"}
    )
    refused = lab.refusal(lab.order("net"))
    assert (refused.code, refused.data["path"]) == ("git.large_file", "model.bin")


def test_loopback_is_refused_unless_the_administrator_names_the_host(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    refused = lab.refusal(lab.order("net"), replace(lab.rules, allowed_hosts=()))
    assert (refused.code, lab.server.requests) == ("git.host_not_allowed", [])


def test_a_certificate_of_nobody_is_refused(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    assert lab.refusal(lab.order("net"), replace(lab.rules, authority=None)).code == "git.certificate"


@pytest.mark.skipif(IDS is None, reason="only root can give rights away")
def test_git_has_no_rights_while_it_fetches(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    with open_fetch(lab.order("net"), lab.rules) as fetch:
        assert IDS is not None
        assert fetch.folder.stat().st_uid == IDS.uid
        assert (fetch.folder / "repository").stat().st_uid == IDS.uid
        assert (fetch.folder / "known_hosts").stat().st_mode & 0o777 == 0o600


STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > {folder}/arguments
echo "127.0.0.1 ssh-ed25519 AAAA" >> $(printf '%s\\n' "$@" | sed -n 's/^UserKnownHostsFile=//p')
cat $(printf '%s\\n' "$@" | sed -n 's/^IdentityFile=//p') > {folder}/key
for last; do :; done
exec git -c safe.directory='*' upload-pack $(printf %s "$last" | cut -d"'" -f2)
"""


def test_ssh_gets_the_key_by_a_file_and_its_server_s_key_is_noted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a program in the place of ssh, which speaks to the repository itself."""
    programs = lab.server.root.parent / "programs"
    programs.mkdir()
    programs.chmod(0o777)
    (programs / "ssh").write_text(STAND_IN.format(folder=programs))
    (programs / "ssh").chmod(0o755)
    monkeypatch.setattr("worker.git.git_process.PATH", f"{programs}:/usr/bin:/bin")
    origin = lab.server.make_origin("net")
    commit = origin.commit({"train.py": b"1\n"})
    url = f"ssh://git@127.0.0.1:2222{origin.path}"
    order = replace(lab.order("net"), url=url, credential=GitCredential.DEPLOY_KEY, secret=TOKEN)
    with open_fetch(order, replace(lab.rules, allowed_hosts=["127.0.0.1:2222"])) as fetch:
        made = fetch.fetch(fetch.find_commit())
        assert made.id == commit and fetch.read_files(made) == {"train.py": b"1\n"}
        assert fetch.read_known_hosts().startswith("127.0.0.1 ssh-ed25519 AAAA")
    words = (programs / "arguments").read_text()
    assert "HostName=127.0.0.1" in words and "2222" in words and TOKEN not in words
    assert (programs / "key").read_text() == TOKEN
    assert list(lab.rules.work.iterdir()) == []

"""A bundle is installed from only while it is what was collected."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.worker.small_bundle import SITE_KEY, a_bundle
from worker.bundle import check
from worker.bundle.__main__ import main
from worker.bundle.signing import sign_bundle

FILES = {
    "apt/debian-12/kubelet_1.34.4.deb": "a package",
    "files/kubernetes/flannel_0.28.yaml": "kind: DaemonSet",
}


def faults_of(folder: Path) -> list[str]:
    return list(check.find_faults(folder, check.read_manifest_file(folder)))


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def test_a_bundle_as_it_was_collected_is_whole(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    assert faults_of(tmp_path) == []


def test_one_flipped_bit_names_its_file(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    flip_a_bit(tmp_path / "apt/debian-12/kubelet_1.34.4.deb")
    (fault,) = faults_of(tmp_path)
    assert "apt/debian-12/kubelet_1.34.4.deb" in fault and "SHA-256" in fault


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    (tmp_path / "files/kubernetes/flannel_0.28.yaml").unlink()
    assert faults_of(tmp_path) == ["files/kubernetes/flannel_0.28.yaml is missing"]


def test_a_file_that_became_shorter_is_named_with_both_sizes(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    (tmp_path / "files/kubernetes/flannel_0.28.yaml").write_text("kind")
    assert faults_of(tmp_path) == ["files/kubernetes/flannel_0.28.yaml has 4 bytes, not 15"]


def test_a_file_that_nobody_collected_is_named(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/backdoor.whl").write_text("")
    (tmp_path / "apt/else").symlink_to("/etc")
    assert faults_of(tmp_path) == [
        "apt/else is not in the manifest",
        "wheels/backdoor.whl is not in the manifest",
    ]


def test_a_link_in_place_of_a_file_counts_as_missing(tmp_path: Path) -> None:
    a_bundle(tmp_path, FILES)
    file = tmp_path / "apt/debian-12/kubelet_1.34.4.deb"
    file.rename(tmp_path.with_name("elsewhere"))
    file.symlink_to(tmp_path.with_name("elsewhere"))
    assert faults_of(tmp_path) == ["apt/debian-12/kubelet_1.34.4.deb is missing"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no bundle"),
        ("{", "cannot be read"),
        ('{"format": 2}', "format 1"),
        ("[]", "format 1"),
        ('{"format": 1}', "damaged"),
    ],
)
def test_what_is_no_bundle_is_refused_in_words(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(check.NotABundle, match=words):
        check.read_manifest_file(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "../../etc/shadow"},
        {"path": "/etc/shadow"},
        {"path": ""},
        {"path": 7},
        {"size": "15"},
        {"sha256": None},
        {"more": "x"},
    ],
    ids=str,
)
def test_a_manifest_that_no_collector_wrote_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    a_bundle(tmp_path, FILES)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["files"][0] |= change
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(check.NotABundle, match="damaged"):
        check.read_manifest_file(tmp_path)


def test_a_kind_of_file_that_is_not_known_yet_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_bundle(tmp_path, FILES)
    file = tmp_path / "manifest.json"
    file.write_text(file.read_text().replace('"kind": "deb"', '"kind": "snap"'))
    sign_bundle(tmp_path, SITE_KEY)
    assert main(["verify", str(tmp_path)]) == 1
    assert "newer version" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root on a share that takes root for nobody."""
    a_bundle(tmp_path, FILES)

    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(check, "sha256_of", refuse)
    assert faults_of(tmp_path)[0] == "apt/debian-12/kubelet_1.34.4.deb cannot be read: Permission denied"


def on_a_host(folder: Path, installed: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """As the role runs it: this one file, by the host's own Python, with nothing of ours beside it."""
    alone = shutil.copy(check.__file__, installed.parent / "check.py")
    command = [sys.executable, "-I", alone, folder, "--here", "--installed", installed, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_host_knows_the_bundle_that_it_was_installed_from(tmp_path: Path) -> None:
    bundle, installed = tmp_path / "bundle", tmp_path / "installed.json"
    version = a_bundle(bundle, FILES).version
    assert on_a_host(bundle, installed).stdout.split()[:2] == ["whole", version]
    shutil.copy(bundle / "manifest.json", installed)
    known = on_a_host(bundle, installed)
    assert (known.returncode, known.stdout.split()[:3]) == (0, ["known", version, check.this_system()])


@pytest.mark.parametrize("noted", ["", "{", "[]", '{"format": 1}'])
def test_a_host_whose_own_note_is_damaged_reads_the_bundle_as_if_for_the_first_time(
    tmp_path: Path, noted: str
) -> None:
    bundle, installed = tmp_path / "bundle", tmp_path / "installed.json"
    a_bundle(bundle, FILES)
    installed.write_text(noted)
    read = on_a_host(bundle, installed)
    assert (read.returncode, read.stdout.split()[0]) == (0, "whole")
    flip_a_bit(bundle / "apt/debian-12/kubelet_1.34.4.deb")
    assert on_a_host(bundle, installed).returncode == 1


def test_a_host_refuses_a_bundle_older_than_its_own_unless_it_is_told(tmp_path: Path) -> None:
    bundle, installed = tmp_path / "bundle", tmp_path / "installed.json"
    a_bundle(bundle, FILES, later=5)
    shutil.copy(bundle / "manifest.json", installed)
    old = a_bundle(tmp_path / "old", FILES)
    refused = on_a_host(tmp_path / "old", installed)
    assert refused.returncode == 1 and f"bundle {old.version} is older" in refused.stdout
    assert on_a_host(tmp_path / "old", installed, "--may-be-older").returncode == 0


def test_a_host_refuses_a_bundle_of_another_distribution(tmp_path: Path) -> None:
    a_bundle(tmp_path / "bundle", FILES, system="plan9-4")
    refused = on_a_host(tmp_path / "bundle", tmp_path / "installed.json")
    assert refused.returncode == 1 and f"for plan9-4, not for {check.this_system()}" in refused.stdout


def test_the_command_verifies_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_bundle(tmp_path, FILES)
    assert main(["verify", str(tmp_path)]) == 0
    assert "2 files" in capsys.readouterr().out
    flip_a_bit(tmp_path / "files/kubernetes/flannel_0.28.yaml")
    assert main(["verify", str(tmp_path)]) == 1
    assert "files/kubernetes/flannel_0.28.yaml" in capsys.readouterr().err


def test_two_versions_of_one_package_are_two_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_bundle(tmp_path / "old", {"wheels/a/numpy_1.deb": "x", "wheels/b/numpy_2.deb": "y"})
    a_bundle(tmp_path / "new", {"wheels/a/numpy_1.deb": "x", "wheels/b/numpy_3.deb": "z"}, later=5)
    main(["diff", str(tmp_path / "new"), str(tmp_path / "old")])
    assert capsys.readouterr().out.splitlines()[1:] == ["~ deb    numpy 2 -> 3"]


def test_the_command_compares_with_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_bundle(
        tmp_path / "old",
        {"apt/debian-12/kubelet_1.34.4.deb": "x", "files/a_1.yaml": "a", "files/b_1.yaml": "b"},
    )
    installed = shutil.copy(tmp_path / "old/manifest.json", tmp_path / "bundle.json")
    new = {"apt/debian-12/kubelet_1.34.5.deb": "y", "files/a_1.yaml": "changed", "files/c_1.yaml": "c"}
    a_bundle(tmp_path / "new", new, later=5)
    assert main(["diff", str(tmp_path / "new"), str(installed)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "~ deb    kubelet 1.34.4 -> 1.34.5",
        "~ file   a 1 (other content)",
        "- file   b 1",
        "+ file   c 1",
    ]
    assert main(["diff", str(tmp_path / "old"), str(installed)]) == 0
    assert json.loads(Path(installed).read_text())["collector"] == "build"


def pin_signer(bundle: Path, pinned: Path) -> None:
    """As the role does with what the check prints at the end."""
    read = on_a_host(bundle, pinned.with_name("installed.json"), "--pinned", str(pinned))
    assert read.returncode == 0, read.stdout
    pinned.write_text(" ".join(read.stdout.split()[3:]) + "\n")


def refusal_of(bundle: Path, pinned: Path, *more: str) -> str:
    """What a host says of a bundle that it refuses."""
    read = on_a_host(bundle, pinned.with_name("installed.json"), "--pinned", str(pinned), *more)
    assert read.returncode == 1
    return read.stdout


def test_a_host_trusts_the_signer_of_its_first_bundle_and_no_other_one(tmp_path: Path) -> None:
    bundle, pinned = tmp_path / "bundle", tmp_path / "signer.pub"
    a_bundle(bundle, FILES)
    pin_signer(bundle, pinned)
    pin_signer(bundle, pinned)
    before, other = pinned.read_text(), sign_bundle(bundle, tmp_path / "other-key")
    refusal = refusal_of(bundle, pinned)
    assert other in refusal and check.fingerprint_of(before) in refusal
    new_key = (bundle / "signer.pub").read_text().strip()
    read = on_a_host(bundle, tmp_path / "installed.json", "--pinned", str(pinned), "--signer", new_key)
    assert (read.returncode, read.stdout.split()[4]) == (0, new_key.split()[1])
    assert "groundcrew_bundle_signer" in refusal_of(bundle, pinned, "--signer", before.strip())


def swap_manifest(bundle: Path) -> None:
    """An older manifest, which the same key has signed, without its signature."""
    old = bundle.with_name("old")
    a_bundle(old, FILES, later=-60)
    shutil.copy(old / "manifest.json", bundle / "manifest.json")


def sign_with_another_key(bundle: Path) -> None:
    """The public key beside the signature still is the site's."""
    public = (bundle / "signer.pub").read_text()
    sign_bundle(bundle, bundle.with_name("stranger-key"))
    (bundle / "signer.pub").write_text(public)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda bundle: flip_a_bit(bundle / "manifest.json"), "is not what SHA256:"),
        (lambda bundle: flip_a_bit(bundle / "manifest.json.sig"), "is not what SHA256:"),
        (lambda bundle: flip_a_bit(bundle / "apt/debian-12/kubelet_1.34.4.deb"), "SHA-256 differs"),
        (swap_manifest, "is not what SHA256:"),
        (sign_with_another_key, "is not what SHA256:"),
        (lambda bundle: (bundle / "manifest.json.sig").unlink(), "not signed: manifest.json.sig is missing"),
        (lambda bundle: (bundle / "signer.pub").unlink(), "not signed: signer.pub is missing"),
        (lambda bundle: (bundle / "signer.pub").write_text("* ssh-ed25519 AAAA"), "not the public key"),
        (lambda bundle: (bundle / "signer.pub").write_text("ssh-ed25519 A\nssh-rsa B"), "not the public key"),
        (lambda bundle: (bundle / "apt").chmod(0o777), "apt may be written by others: chmod go-w"),
        (lambda bundle: (bundle / "manifest.json").chmod(0o664), "manifest.json may be written by others"),
        (lambda bundle: bundle.parent.chmod(0o775), "may be written by others"),
    ],
)
@pytest.mark.parametrize("has_pin", [True, False], ids=["pinned", "first use"])
def test_a_bundle_that_somebody_else_changed_is_refused(
    tmp_path: Path, change: Callable[[Path], object], words: str, has_pin: bool
) -> None:
    bundle, pinned = tmp_path / "site" / "bundle", tmp_path / "signer.pub"
    a_bundle(bundle, FILES)
    if has_pin:
        pin_signer(bundle, pinned)
    change(bundle)
    assert words in refusal_of(bundle, pinned)


def test_a_bundle_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_bundle(tmp_path, FILES)
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(check.os, "geteuid", lambda: owner + 1 if owner else 0)
    monkeypatch.setattr(
        check.Path, "lstat", lambda path: os.stat_result((0o40755, 0, 0, 1, owner + 7, 0, 0, 0, 0, 0))
    )
    assert f"belongs to uid {owner + 7}" in next(check.find_strangers(tmp_path))


@pytest.mark.parametrize(
    ("link_mode", "target_mode"), [(0o777, 0o755), (0o755, 0o777)], ids=["link", "where it leads"]
)
def test_a_bundle_behind_a_link_that_somebody_may_turn_is_refused(
    tmp_path: Path, link_mode: int, target_mode: int
) -> None:
    shelf, store = tmp_path / "shelf", tmp_path / "store"
    a_bundle(store / "bundle", FILES)
    shelf.mkdir()
    (shelf / "newest").symlink_to(store / "bundle")
    assert list(check.find_strangers(shelf / "newest")) == []
    shelf.chmod(link_mode)
    store.chmod(target_mode)
    (fault,) = check.find_strangers(shelf / "newest")
    assert "may be written by others" in fault

"""The sandbox reports each feature that the machine refuses, and goes on with the others."""

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worker.inside import shim_sandbox
from worker.inside.shim_sandbox import (
    FEATURES,
    call_mount,
    check_libc,
    cover_folders,
    enter_sandbox,
    open_path,
    read_mount_features,
    read_mounts,
    remount_read_only,
    set_read_only_below,
    try_feature,
)


def refuse(number: int) -> None:
    raise OSError(number, os.strerror(number))


def test_the_first_refusal_of_a_feature_is_kept() -> None:
    missing: dict[str, str] = {}
    try_feature(missing, "tmp", lambda: None)
    try_feature(missing, "system", lambda: refuse(errno.ENOSYS))
    try_feature(missing, "system", lambda: refuse(errno.EPERM))
    assert missing == {"system": os.strerror(errno.ENOSYS)}


def test_a_failed_call_says_what_it_was_and_why() -> None:
    check_libc(0, "mount /")
    ctypes.set_errno(errno.EBUSY)
    with pytest.raises(OSError, match="mount /: Device or resource busy") as raised:
        check_libc(-1, "mount /")
    assert raised.value.errno == errno.EBUSY


def test_mounts_are_read_with_their_options_and_decoded_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = dict(read_mounts())
    assert mounts["/"] & {"rw", "ro"}
    table = tmp_path / "mountinfo"
    table.write_bytes(b"36 35 98:0 / /a\\040b\\134c rw,nosuid shared:1 - tmpfs tmpfs rw\n")
    monkeypatch.setattr("builtins.open", lambda *_: table.open("rb"))
    assert read_mounts() == [("/a b\\c", {"rw", "nosuid"})]


@pytest.mark.parametrize(
    ("number", "is_error"),
    [(errno.EINVAL, False), (errno.ENOENT, False), (errno.EACCES, False), (errno.EPERM, True)],
)
def test_a_mount_beneath_another_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, number: int, is_error: bool
) -> None:
    flags: list[int] = []

    def mount(source: object, target: object, kind: object, given: int) -> None:
        flags.append(given)
        refuse(number)

    monkeypatch.setattr(shim_sandbox, "call_mount", mount)
    if is_error:
        with pytest.raises(OSError):
            remount_read_only("/x", {"nosuid"})
    else:
        remount_read_only("/x", {"nosuid"})
    assert flags[0] & shim_sandbox.MS_RDONLY and flags[0] & shim_sandbox.MS_NOSUID
    assert not flags[0] & shim_sandbox.MS_NODEV


def test_folders_that_are_there_are_covered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shim_sandbox, "call_mount", lambda *_: None)
    covered: list[str] = []
    cover_folders([str(tmp_path), str(tmp_path / "missing")], covered)
    assert covered == [str(tmp_path)]


def test_a_folder_is_held_without_being_read(tmp_path: Path) -> None:
    descriptor = open_path(str(tmp_path))
    assert Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path
    with pytest.raises(OSError):
        os.read(descriptor, 1)
    os.close(descriptor)


def test_a_user_without_rights_gets_none_of_the_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim_sandbox.os, "geteuid", lambda: 1000)
    assert read_mount_features() == dict.fromkeys(FEATURES, os.strerror(errno.EPERM))


def test_a_machine_without_mount_namespaces_refuses_every_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim_sandbox, "check_libc", lambda done, what: refuse(errno.EPERM))
    monkeypatch.setattr(shim_sandbox.libc, "unshare", lambda flags: -1)
    missing = enter_sandbox({"hidden": [], "shown": []}, None)
    assert missing == dict.fromkeys(FEATURES, os.strerror(errno.EPERM))


def test_the_features_are_tried_in_a_child_of_which_nothing_stays() -> None:
    before = read_mounts()
    features = read_mount_features()
    assert set(features) == set(FEATURES)
    assert read_mounts() == before


def test_a_mount_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(OSError, match="mount /no/such/folder"):
        call_mount("tmpfs", "/no/such/folder", "tmpfs", 0)


def test_all_mounts_below_a_path_become_read_only_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, bytes | None, int]] = []

    def syscall(number: Any, _at: int, path: Any, flags: int, _attributes: Any, _size: Any) -> int:
        calls.append((number.value, path.value, flags))
        return 0

    monkeypatch.setattr(shim_sandbox, "libc", SimpleNamespace(syscall=syscall))
    set_read_only_below("/data")
    assert calls == [(shim_sandbox.MOUNT_SETATTR, b"/data", shim_sandbox.AT_RECURSIVE)]
    monkeypatch.setattr(shim_sandbox, "libc", SimpleNamespace(syscall=lambda *_: -1))
    ctypes.set_errno(errno.EPERM)
    with pytest.raises(OSError, match="mount_setattr"):
        set_read_only_below("/data")

"""The modules that put files in place and keep units, without Ansible and without systemd."""

import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SHOWN = {
    "Id": "ours.service",
    "LoadState": "loaded",
    "ActiveState": "active",
    "UnitFileState": "enabled",
    "InactiveExitTimestampMonotonic": "5000000",
    "StateChangeTimestampMonotonic": "9000000",
    "NeedDaemonReload": "no",
}


def given(path: Path, **more: str) -> dict[str, str]:
    owner, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    known = {"owner": owner, "group": group, "mode": "0640", "content": "one\n", "source": ""}
    return {"path": str(path)} | known | more


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_a_file_is_written_once_with_its_mode_and_mended_where_it_was_changed(
    module: Any, tmp_path: Path
) -> None:
    path = tmp_path / "settings"
    assert module.lay_file(given(path), False) == (True, "")
    assert (path.read_text(), path.stat().st_mode & 0o7777) == ("one\n", 0o640)
    assert module.lay_file(given(path), False) == (False, "")
    path.chmod(0o644)
    assert module.lay_file(given(path), False)[0] and path.stat().st_mode & 0o7777 == 0o640
    path.write_text("two\n")
    assert module.lay_file(given(path), False) == (True, "two\n") and path.read_text() == "one\n"
    assert [each.name for each in tmp_path.iterdir()] == ["settings"]


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_a_file_can_be_the_copy_of_another_one_of_the_host(module: Any, tmp_path: Path) -> None:
    source, path = tmp_path / "bundle.yaml", tmp_path / "upstream.yaml"
    source.write_bytes(b"kind: \xff\n")
    assert module.lay_file(given(path, source=str(source)), False) == (True, "")
    assert path.read_bytes() == source.read_bytes() and path.stat().st_mode & 0o7777 == 0o640
    assert module.lay_file(given(path, source=str(source)), False) == (False, "")
    source.unlink()
    with pytest.raises(OSError, match="bundle.yaml"):
        module.lay_file(given(path, source=str(source)), False)


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_looking_changes_nothing_and_needs_no_owner_who_is_not_there_yet(module: Any, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "settings"
    assert module.lay_file(given(path, owner="nobody-of-that-name"), True)[0]
    assert module.lay_folder(given(tmp_path / "folder"), True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LookupError, match="nobody-of-that-name"):
        module.lay_folder(given(tmp_path / "folder", owner="nobody-of-that-name"), False)


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_what_was_not_given_goes_from_a_folder_that_is_ours_alone(module: Any, tmp_path: Path) -> None:
    for name in ("ours", "theirs", "deep/theirs"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one\n")
    others = [str(tmp_path / "deep/theirs"), str(tmp_path / "theirs")]
    assert module.clear_others(tmp_path, {str(tmp_path / "ours")}, True) == others
    assert (tmp_path / "theirs").exists()
    assert module.clear_others(tmp_path, {str(tmp_path / "ours")}, False) == others
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "ours"]


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_a_link_in_a_files_place_is_replaced_and_its_target_left_alone(module: Any, tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "settings"
    other.write_text("of somebody else\n")
    path.symlink_to(other)
    assert module.lay_file(given(path), False)[0]
    assert not path.is_symlink() and other.read_text() == "of somebody else\n"


@pytest.mark.parametrize("module", ["host_files"], indirect=True)
def test_a_link_in_a_folders_place_gives_nothing_away(module: Any, tmp_path: Path) -> None:
    """A service that owns the folder above has put it there, and waits for the next run."""
    other, path = tmp_path / "other", tmp_path / "folder"
    other.mkdir(mode=0o700)
    path.symlink_to(other)
    with pytest.raises(OSError, match="folder"):
        module.lay_folder(given(path, mode="0755"), False)
    assert other.stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("module", ["kept_units"], indirect=True)
@pytest.mark.parametrize(
    ("shown", "done"),
    [
        ({}, []),
        ({"ActiveState": "inactive"}, [("start", ["ours.service"])]),
        ({"ActiveState": "failed"}, [("reset-failed", ["ours.service"]), ("start", ["ours.service"])]),
        ({"UnitFileState": "disabled"}, [("enable", ["ours.service"])]),
        (
            {"LoadState": "masked", "UnitFileState": "masked", "ActiveState": "inactive"},
            [("unmask", ["ours.service"]), ("enable", ["ours.service"]), ("start", ["ours.service"])],
        ),
    ],
)
def test_units_are_enabled_and_started_where_they_are_not(
    module: Any,
    monkeypatch: pytest.MonkeyPatch,
    shown: dict[str, str],
    done: list[tuple[str, list[str]]],
) -> None:
    called: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(module, "show", lambda units: [SHOWN | shown])
    monkeypatch.setattr(module, "systemctl", lambda verb, units: called.append((verb, units)))
    module.keep(["ours.service"], True)
    assert called == []
    module.keep(["ours.service"], False)
    assert called == done


@pytest.mark.parametrize("module", ["kept_units"], indirect=True)
def test_a_unit_is_outdated_where_it_began_before_a_file_or_systemd_has_not_read_its_own(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"/file": 0.0}
    monkeypatch.setattr(module, "written_at", lambda path: written[path])
    monkeypatch.setattr(module.time, "time", lambda: 1000.0)
    monkeypatch.setattr(module.time, "clock_gettime", lambda clock: 100.0)
    shown = dict(SHOWN)
    monkeypatch.setattr(module, "show", lambda units: [shown])
    for moment, restarts, reloads in ((904.0, False, False), (906.0, True, False), (910.0, True, True)):
        written["/file"] = moment
        assert module.are_outdated(["ours.service"], ["/file"], False) == restarts
        assert module.are_outdated(["ours.service"], ["/file"], True) == reloads
    written["/file"] = 0.0
    shown["NeedDaemonReload"] = "yes"
    assert module.are_outdated(["ours.service"], ["/file"], False)


@pytest.mark.parametrize("module", ["host_state"], indirect=True)
def test_a_units_age_is_told_and_no_hour(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's clock may be wrong, or set while the unit runs."""
    said = "Id=a\nLoadState=loaded\nActiveState={}\nUnitFileState=enabled\nActiveEnterTimestampMonotonic=95500000\n"
    monkeypatch.setattr(module.time, "clock_gettime", lambda clock: 100.0)
    for active, age in (("active", 4.5), ("failed", None)):
        shown = SimpleNamespace(stdout=said.format(active))
        monkeypatch.setattr(module.subprocess, "run", lambda *_, shown=shown, **__: shown)
        assert module.read_unit("a") == {
            "load": "loaded",
            "active": active,
            "enabled": "enabled",
            "age": age,
        }


@pytest.mark.parametrize("module", ["kept_units"], indirect=True)
def test_of_a_socket_its_own_file_counts_and_no_other(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["/etc/ours.socket", "/etc/ours.env"]
    written = dict.fromkeys(files, 0.0)
    monkeypatch.setattr(module, "written_at", lambda path: written[path])
    monkeypatch.setattr(module.time, "time", lambda: 1000.0)
    monkeypatch.setattr(module.time, "clock_gettime", lambda clock: 100.0)
    shown = SHOWN | {"Id": "ours.socket"}
    monkeypatch.setattr(module, "show", lambda units: [shown] if units == ["ours.socket"] else [])
    units = ["ours.socket", "ours.service"]
    for path, moment, old in (
        (files[1], 999.0, []),
        (files[0], 904.0, []),
        (files[0], 906.0, ["ours.socket"]),
    ):
        written[path] = moment
        assert module.find_old_sockets(units, files) == old
    written[files[0]] = 0.0
    shown["NeedDaemonReload"] = "yes"
    assert module.find_old_sockets(units, files) == ["ours.socket"]
    assert module.find_old_sockets(["ours.service"], files) == []

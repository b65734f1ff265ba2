"""Layers are made without an engine, and the same files make the same bytes."""

import gzip
import hashlib
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from worker.oci.layers import ImageLayer, add_file_to_layer, open_layer_tar, pack_folder_layer, plain_layer

AT = 1_700_000_000


def a_layer(folder: Path, name: str) -> ImageLayer:
    program = folder / "program"
    program.write_text("#!/bin/sh\n")
    with open_layer_tar(folder / name) as tar:
        add_file_to_layer(tar, "usr/local/bin/pause", program)
    return plain_layer(folder / name, "a test")


def a_tree(folder: Path) -> Path:
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/hostname").write_text("builder")
    (folder / "dev").mkdir()
    (folder / "dev/null").write_text("")
    for path in (folder / "etc/hostname", folder / "etc", folder / "dev/null", folder / "dev", folder):
        path.chmod(0o755)
        os.utime(path, (AT, AT))
    return folder


def sum_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    first, second = a_layer(tmp_path, "a.tar"), a_layer(tmp_path, "b.tar")
    assert first.digest == second.digest == sum_of((tmp_path / "a.tar").read_bytes())


def test_a_plain_layer_is_what_its_image_names(tmp_path: Path) -> None:
    layer = a_layer(tmp_path, "a.tar")
    assert (layer.diff_id, layer.created_by) == (layer.digest, "a test")


def test_the_folders_above_a_file_are_there_once(tmp_path: Path) -> None:
    with tarfile.open(a_layer(tmp_path, "layer.tar").path) as tar:
        assert tar.getnames() == ["usr", "usr/local", "usr/local/bin", "usr/local/bin/pause"]
        assert {info.mode for info in tar} == {0o755}


def test_a_packed_folder_has_the_digests_of_the_file_and_of_what_is_in_it(tmp_path: Path) -> None:
    layer = pack_folder_layer(a_tree(tmp_path / "root"), ["."], tmp_path / "layer", "a test", ["./dev/*"])
    packed = (tmp_path / "layer").read_bytes()
    assert (layer.digest, layer.diff_id) == (sum_of(packed), sum_of(gzip.decompress(packed)))
    with tarfile.open(tmp_path / "layer") as tar:
        assert tar.getnames() == [".", "./dev", "./etc", "./etc/hostname"]


def test_the_same_folder_packed_twice_is_one_layer(tmp_path: Path) -> None:
    """Both trees have the same files, and neither the same times of access nor of change."""
    first = pack_folder_layer(a_tree(tmp_path / "one"), ["."], tmp_path / "first", "a test")
    os.utime(tmp_path / "one/etc/hostname", (AT + 60, AT))
    again = pack_folder_layer(tmp_path / "one", ["."], tmp_path / "again", "a test")
    other = pack_folder_layer(a_tree(tmp_path / "two"), ["."], tmp_path / "other", "a test")
    assert first.digest == again.digest == other.digest


def test_a_folder_that_cannot_be_packed_is_no_layer(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        pack_folder_layer(tmp_path, ["./not-there"], tmp_path / "layer", "a test")

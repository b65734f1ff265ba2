"""Images are written without an engine, and the same files make the same image."""

import hashlib
import json
import tarfile
from pathlib import Path

from worker.oci.layers import (
    Layer,
    RunSettings,
    add_file_to_layer,
    finish_plain_layer,
    open_layer_tar,
    write_image_archive,
)


def a_layer(folder: Path, name: str) -> Layer:
    program = folder / "program"
    program.write_text("#!/bin/sh\n")
    with open_layer_tar(folder / name) as tar:
        add_file_to_layer(tar, "usr/local/bin/pause", program)
    return finish_plain_layer(folder / name)


def test_an_archive_says_what_an_engine_asks_for(tmp_path: Path) -> None:
    layer = a_layer(tmp_path, "layer.tar")
    write_image_archive(
        tmp_path / "image.tar", "registry.k8s.io/pause:3", [layer], RunSettings(("/pause",), "65535")
    )
    with tarfile.open(tmp_path / "image.tar") as archive:
        read = {info.name: archive.extractfile(info).read() for info in archive if info.isreg()}  # type: ignore[union-attr]
    (listed,) = json.loads(read["manifest.json"])
    assert listed["RepoTags"] == ["registry.k8s.io/pause:3"]
    assert listed["Config"] == f"{hashlib.sha256(read[listed['Config']]).hexdigest()}.json"
    configuration = json.loads(read[listed["Config"]])
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{layer.sha256}"]
    assert configuration["config"]["Entrypoint"] == ["/pause"] and configuration["config"]["User"] == "65535"
    assert hashlib.sha256(read[listed["Layers"][0]]).hexdigest() == layer.sha256


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    first, second = a_layer(tmp_path, "a.tar"), a_layer(tmp_path, "b.tar")
    assert first.sha256 == second.sha256


def test_the_folders_above_a_file_are_there_once(tmp_path: Path) -> None:
    with tarfile.open(a_layer(tmp_path, "layer.tar").path) as tar:
        assert tar.getnames() == ["usr", "usr/local", "usr/local/bin", "usr/local/bin/pause"]

"""Images are pulled by skopeo from a stand-in for a registry on this machine, and become the archives of a bundle."""

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.worker.bundle.fake_registry import Standin, a_standin, skopeo_or_skip, sum_of
from worker.bundle.build_cache import CollectingFailed
from worker.bundle.image_downloads import download_image, unpack_layer
from worker.bundle.mirrors import TRIES, MirrorClient

PAUSE = "registry.k8s.io/pause:3.10.1"
GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"


@pytest.fixture
def standin() -> Iterator[Standin]:
    skopeo_or_skip()
    with a_standin() as standin:
        yield standin


def client_of(standin: Standin) -> MirrorClient:
    return MirrorClient({"registry.k8s.io": standin.address}, pause=0.0)


def test_an_image_is_pulled_for_our_platform_and_becomes_an_archive(standin: Standin, tmp_path: Path) -> None:
    digest = standin.add_image("pause", "3.10.1", b"a program")
    assert download_image(PAUSE, tmp_path / "image.tar", client_of(standin)) == digest
    with tarfile.open(tmp_path / "image.tar") as archive:
        listed = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        with tarfile.open(fileobj=archive.extractfile(listed[0]["Layers"][0])) as layer:
            assert layer.extractfile("pause").read() == b"a program"  # type: ignore[union-attr]
    assert listed[0]["RepoTags"] == [PAUSE]
    assert [path.name for path in tmp_path.iterdir()] == ["image.tar"]


def test_a_layer_that_broke_off_is_asked_for_again(standin: Standin, tmp_path: Path) -> None:
    digest = standin.add_image("pause", "3.10.1", bytes(range(256)) * 400)
    layer = standin.layer_of("pause")
    standin.breaks_off[layer] = 100
    assert download_image(PAUSE, tmp_path / "image.tar", client_of(standin)) == digest
    assert standin.asked.count(layer) == 2


def test_a_registry_that_is_busy_is_asked_again(standin: Standin, tmp_path: Path) -> None:
    digest = standin.add_image("pause", "3.10.1", b"a program")
    standin.refuses_once.add(standin.layer_of("pause"))
    assert download_image(PAUSE, tmp_path / "image.tar", client_of(standin)) == digest


def test_a_layer_that_is_another_than_its_digest_is_refused(standin: Standin, tmp_path: Path) -> None:
    standin.add_image("pause", "3.10.1", bytes(range(256)) * 400)
    layer = standin.layer_of("pause")
    whole = standin.files[layer]
    standin.files[layer] = whole[:-1] + bytes([whole[-1] ^ 1])
    with pytest.raises(CollectingFailed, match="Digest did not match"):
        download_image(PAUSE, tmp_path / "image.tar", client_of(standin))
    assert standin.asked.count(layer) == TRIES
    standin.files[layer] = whole
    download_image(PAUSE, tmp_path / "image.tar", client_of(standin))


def test_a_token_stays_with_its_registry_where_that_sends_on_to_a_store(
    standin: Standin, tmp_path: Path
) -> None:
    standin.add_image("pause", "3.10.1", bytes(range(256)) * 400)
    layer = standin.layer_of("pause")
    with a_standin() as store:
        store.files["/layer"] = standin.files[layer]
        store.breaks_off["/layer"] = 100
        elsewhere = store.address.replace("127.0.0.1", "localhost")
        standin.moved[layer] = f"{elsewhere}/layer?signed=yes"
        download_image(PAUSE, tmp_path / "image.tar", client_of(standin))
        assert store.tokens == [None, None]
    assert standin.tokens[-1] == "Bearer for-anybody"


def test_an_image_that_is_not_there_is_named(standin: Standin, tmp_path: Path) -> None:
    with pytest.raises(CollectingFailed, match=r"registry\.k8s\.io/pause:3\.10\.1 cannot be pulled.*404"):
        download_image(PAUSE, tmp_path / "image.tar", client_of(standin))
    assert not (tmp_path / "image.tar").exists()


def test_a_layer_is_unpacked_and_held_to_the_sum_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "layer").write_bytes(gzip.compress(b"a tar"))
    layer = unpack_layer(tmp_path / "layer", sum_of(b"a tar"), GZIP)
    assert layer.path.read_bytes() == b"a tar" and layer.digest == layer.diff_id == sum_of(b"a tar")
    with pytest.raises(CollectingFailed, match="has not the content"):
        unpack_layer(tmp_path / "layer", sum_of(b"another tar"), GZIP)


def test_a_layer_that_is_packed_in_an_unknown_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(CollectingFailed, match=r"tar\+zstd"):
        unpack_layer(tmp_path / "layer", "", GZIP.replace("gzip", "zstd"))

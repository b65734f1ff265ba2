"""The collector that asks registries and web servers, tried against a stand-in for them on this machine."""

import json
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.unit.worker.bundle.fake_registry import Standin, a_standin
from worker.bundle import check
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.download import download_bundle
from worker.bundle.mirrors import MirrorClient
from worker.bundle.sources import BundleSources, read_bundle_sources
from worker.oci.skopeo import parse_reference, pull

PAUSE = "registry.k8s.io/pause:3.10.1"
NOW = datetime(2026, 11, 21, 19, 0, tzinfo=UTC)


@pytest.fixture
def standin() -> Iterator[Standin]:
    with a_standin() as standin:
        yield standin


def fetcher_of(standin: Standin, *hosts: str) -> MirrorClient:
    return MirrorClient(dict.fromkeys(hosts or ("registry.k8s.io",), standin.address), pause=0.0)


def test_a_full_name_says_whom_to_ask() -> None:
    assert parse_reference("docker.io/mpioperator/mpi-operator:0.7.0").host == "registry-1.docker.io"
    found = parse_reference("registry.k8s.io/coredns/coredns:v1.12.4")
    assert (found.host, found.name, found.tag) == ("registry.k8s.io", "coredns/coredns", "v1.12.4")


def test_an_image_is_pulled_for_our_platform_and_becomes_an_archive(standin: Standin, tmp_path: Path) -> None:
    digest = standin.add_image("pause", "3.10.1", b"a program")
    assert pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin)) == digest
    with tarfile.open(tmp_path / "image.tar") as archive:
        listed = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        with tarfile.open(fileobj=archive.extractfile(listed[0]["Layers"][0])) as layer:
            assert layer.extractfile("pause").read() == b"a program"  # type: ignore[union-attr]
    assert listed[0]["RepoTags"] == [PAUSE]
    assert [path.name for path in tmp_path.iterdir()] == ["image.tar"]


def test_a_layer_that_broke_off_goes_on_where_it_was(standin: Standin, tmp_path: Path) -> None:
    standin.add_image("pause", "3.10.1", bytes(range(256)) * 400)
    layer = standin.layer_of("pause")
    standin.breaks_off[layer] = 100
    pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin))
    assert standin.asked.count(layer) == 2


def test_a_layer_that_is_another_than_its_digest_is_refused(standin: Standin, tmp_path: Path) -> None:
    standin.add_image("pause", "3.10.1", b"a program")
    layer = standin.layer_of("pause")
    whole = standin.files[layer]
    standin.files[layer] = whole[:-1] + bytes([whole[-1] ^ 1])
    with pytest.raises(CollectingFailed, match="thrown away"):
        pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin))
    standin.files[layer] = whole
    pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin))


def test_a_token_stays_with_its_registry_where_that_sends_on_to_a_store(
    standin: Standin, tmp_path: Path
) -> None:
    standin.add_image("pause", "3.10.1", bytes(range(256)) * 400)
    layer = standin.layer_of("pause")
    with a_standin() as store:
        store.files["/layer"] = standin.files[layer]
        store.breaks_off["/layer"] = 100
        standin.moved[layer] = f"{store.address}/layer?signed=yes"
        pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin))
        assert store.tokens == [None, None]
    assert standin.tokens[-1] == "Bearer for-anybody"


def test_a_full_disk_is_not_taken_for_a_bad_line(standin: Standin, tmp_path: Path) -> None:
    standin.files["/layer"] = bytes(range(256)) * 400
    (tmp_path / ".layer.partial").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as full:
        fetcher_of(standin, "github.com").file("https://github.com/layer", tmp_path / "layer")
    assert not isinstance(full.value, CollectingFailed) and standin.asked == ["/layer"]


def test_a_small_file_that_broke_off_is_named(standin: Standin) -> None:
    standin.files["/manifests.yaml"] = b"kind: A\n"
    standin.breaks_off["/manifests.yaml"] = 3
    with pytest.raises(CollectingFailed, match=r"manifests\.yaml broke off"):
        fetcher_of(standin, "github.com").fetch_text("https://github.com/manifests.yaml")


def test_an_image_that_is_not_there_is_named(standin: Standin, tmp_path: Path) -> None:
    with pytest.raises(CollectingFailed, match="404"):
        pull(PAUSE, tmp_path / "image.tar", fetcher_of(standin))


def test_a_server_that_is_busy_is_asked_again(standin: Standin) -> None:
    standin.files["/manifests.yaml"] = b"kind: A\n"
    standin.refuses_once.add("/manifests.yaml")
    assert fetcher_of(standin, "github.com").fetch_text("https://github.com/manifests.yaml") == "kind: A\n"
    assert standin.asked == ["/manifests.yaml", "/manifests.yaml"]


def test_a_server_that_nobody_answers_for_is_named() -> None:
    fetcher = MirrorClient({"github.com": "http://127.0.0.1:9"}, pause=0.0)
    with pytest.raises(CollectingFailed, match=r"http://127\.0\.0\.1:9/x cannot be fetched"):
        fetcher.fetch_text("https://github.com/x")


def fill(standin: Standin, sources: BundleSources) -> set[str]:
    """Everything of the map that is no package; the hosts that it stands for."""
    hosts = set()
    for address in [each for addresses in sources.manifests.values() for each in addresses]:
        standin.files[urlsplit(address).path] = f"kind: {Path(address).stem}\n".encode()
        hosts.add(urlsplit(address).netloc)
    for reference in map(parse_reference, sources.images.values()):
        standin.add_image(reference.name, reference.tag, reference.name.encode())
        hosts.add(reference.host)
    return hosts


def test_images_and_manifests_of_the_map_make_a_whole_bundle(standin: Standin, tmp_path: Path) -> None:
    sources = read_bundle_sources()
    hosts = fill(standin, sources)
    shop = BuildCache(tmp_path / "cache", tmp_path / "log")
    bundle = tmp_path / "bundle"
    fetcher = fetcher_of(standin, *hosts)
    download_bundle(bundle, sources, shop, "0.1.0", NOW, fetcher, ("images", "manifests"))
    read = check.read_manifest_file(bundle)
    assert list(check.find_faults(bundle, read)) == []
    names = {entry["name"] for entry in read["files"] if entry["kind"] == "image"}
    assert names == set(sources.images.values())
    assert (bundle / "files/kubernetes/rdma-device-plugin.yaml").read_text() == (
        "kind: configmap\n---\nkind: daemonset\n"
    )
    asked = len(standin.asked)
    download_bundle(bundle, sources, shop, "0.1.0", NOW, fetcher, ("images",))
    assert len(standin.asked) == asked, "images that are there are asked for again"


def test_a_folder_with_other_things_is_not_replaced(standin: Standin, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").write_text("")
    shop = BuildCache(tmp_path / "cache", tmp_path / "log")
    with pytest.raises(CollectingFailed, match="holds no bundle"):
        download_bundle(tmp_path / "home", read_bundle_sources(), shop, "0.1.0", NOW, fetcher_of(standin), ())
    assert (tmp_path / "home/thesis.tex").exists()

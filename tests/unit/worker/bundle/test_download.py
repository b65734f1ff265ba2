"""The collector `download` makes a bundle of what registries and web servers have: here a stand-in for them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.unit.worker.bundle.fake_registry import Standin, a_standin, skopeo_or_skip
from worker.bundle import check
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.download import download_bundle
from worker.bundle.mirrors import MirrorClient
from worker.bundle.sources import BundleSources, read_bundle_sources

NOW = datetime(2026, 11, 21, 19, 0, tzinfo=UTC)


@pytest.fixture
def standin() -> Iterator[Standin]:
    skopeo_or_skip()
    with a_standin() as standin:
        yield standin


def fetcher_of(standin: Standin, *hosts: str) -> MirrorClient:
    return MirrorClient(dict.fromkeys(hosts, standin.address), pause=0.0)


def fill(standin: Standin, sources: BundleSources) -> set[str]:
    """Everything of the map that is no package; the hosts that it stands for."""
    hosts = set()
    for address in [each for addresses in sources.manifests.values() for each in addresses]:
        standin.files[urlsplit(address).path] = f"kind: {Path(address).stem}\n".encode()
        hosts.add(urlsplit(address).netloc)
    for reference in sources.images.values():
        host, _, rest = reference.partition("/")
        name, _, tag = rest.rpartition(":")
        standin.add_image(name, tag, name.encode())
        hosts.add(host)
    return hosts


def test_images_and_manifests_of_the_map_make_a_whole_bundle(standin: Standin, tmp_path: Path) -> None:
    sources = read_bundle_sources()
    hosts = fill(standin, sources)
    build_cache = BuildCache(tmp_path / "cache", tmp_path / "log")
    bundle = tmp_path / "bundle"
    fetcher = fetcher_of(standin, *hosts)
    download_bundle(bundle, sources, build_cache, "0.1.0", NOW, fetcher, ("images", "manifests"))
    read = check.read_manifest_file(bundle)
    assert list(check.find_faults(bundle, read)) == []
    names = {entry["name"] for entry in read["files"] if entry["kind"] == "image"}
    assert names == set(sources.images.values())
    assert (bundle / "files/kubernetes/rdma-device-plugin.yaml").read_text() == (
        "kind: configmap\n---\nkind: daemonset\n"
    )
    asked = len(standin.asked)
    download_bundle(bundle, sources, build_cache, "0.1.0", NOW, fetcher, ("images",))
    assert len(standin.asked) == asked, "images that are there are asked for again"


def test_a_folder_with_other_things_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").write_text("")
    build_cache = BuildCache(tmp_path / "cache", tmp_path / "log")
    with pytest.raises(CollectingFailed, match="holds no bundle"):
        download_bundle(
            tmp_path / "home", read_bundle_sources(), build_cache, "0.1.0", NOW, MirrorClient(), ()
        )
    assert (tmp_path / "home/thesis.tex").exists()

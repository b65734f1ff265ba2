"""Small files come from the publisher or a site's mirror, also where the server is busy or the line breaks."""

from collections.abc import Iterator

import pytest

from tests.unit.worker.bundle.fake_registry import Standin, a_standin
from worker.bundle import __main__ as command
from worker.bundle.build_cache import CollectingFailed
from worker.bundle.mirrors import TRIES, MirrorClient

URL = "https://github.com/manifests.yaml"


@pytest.fixture
def standin() -> Iterator[Standin]:
    with a_standin() as standin:
        standin.files["/manifests.yaml"] = b"kind: A\n"
        yield standin


def client_of(standin: Standin) -> MirrorClient:
    return MirrorClient({"github.com": standin.address}, pause=0.0)


def test_a_mirror_is_named_as_images_name_their_registry() -> None:
    chosen = command.make_parser().parse_args(
        ["download", "/b", "--instead", "docker.io=https://m/d", "ghcr.io=https://m/g"]
    )
    client = MirrorClient(dict(chosen.instead))
    assert client.mirrors == {"docker.io": "https://m/d", "ghcr.io": "https://m/g"}
    assert client.mirrored_url("https://ghcr.io/v2/") == "https://m/g/v2/"
    assert client.mirrored_url("https://github.com/ghcr.io/") == "https://github.com/ghcr.io/"


def test_a_server_that_is_busy_is_asked_again(standin: Standin) -> None:
    standin.refuses_once.add("/manifests.yaml")
    assert client_of(standin).fetch_text(URL) == "kind: A\n"
    assert standin.asked == ["/manifests.yaml", "/manifests.yaml"]


def test_a_small_file_that_broke_off_is_asked_for_again(standin: Standin) -> None:
    standin.breaks_off["/manifests.yaml"] = 3
    assert client_of(standin).fetch_text(URL) == "kind: A\n"


def test_a_small_file_that_breaks_off_each_time_is_named(standin: Standin) -> None:
    standin.always_breaks_off = 3
    with pytest.raises(CollectingFailed, match=r"manifests\.yaml cannot be fetched: peer closed connection"):
        client_of(standin).fetch_text(URL)
    assert standin.asked == ["/manifests.yaml"] * TRIES


def test_a_file_that_has_moved_is_followed(standin: Standin) -> None:
    standin.moved["/manifests.yaml"] = f"{standin.address}/elsewhere"
    standin.files["/elsewhere"] = b"kind: B\n"
    assert client_of(standin).fetch_text(URL) == "kind: B\n"


def test_a_file_that_is_not_there_is_asked_for_once(standin: Standin) -> None:
    with pytest.raises(CollectingFailed, match=r"/missing answered 404 Not Found"):
        client_of(standin).fetch_text("https://github.com/missing")
    assert standin.asked == ["/missing"]


def test_a_server_that_nobody_answers_for_is_named() -> None:
    client = MirrorClient({"github.com": "http://127.0.0.1:9"}, pause=0.0)
    with pytest.raises(CollectingFailed, match=r"http://127\.0\.0\.1:9/x cannot be fetched"):
        client.fetch_text("https://github.com/x")

"""A default image is read as its builder wrote it."""

import pytest

from cluster.domain.images import parse_default_image

READ = {
    "name": "groundcrew-default",
    "variant": "cpu",
    "tag": "cpu-1",
    "digest": "sha256:ab",
    "size": 5,
    "system": "debian-12",
    "made_at": "2026-11-20T05:00:00+00:00",
    "contents": [{"library": "torch", "version": "2.9", "purpose": "image.training"}],
    "registry": "",
    "gpu_code": {"9.0": {"torch": "own"}},
}


def test_an_image_comes_back_as_it_was_written() -> None:
    image = parse_default_image(READ)
    assert image.to_data() == READ
    assert image.contents[0].line == ("torch", "2.9", "image.training")


def test_a_record_of_an_earlier_release_says_nothing_of_gpus() -> None:
    assert parse_default_image({name: READ[name] for name in READ if name != "gpu_code"}).gpu_code == {}


def test_a_node_pulls_by_digest_and_without_a_registry_by_tag() -> None:
    assert parse_default_image(READ).reference == "groundcrew-default:cpu-1"
    at_site = parse_default_image({**READ, "registry": "master:5000"})
    assert at_site.reference == "master:5000/groundcrew-default@sha256:ab"


def test_another_variant_is_none_of_ours() -> None:
    with pytest.raises(ValueError, match="rocm"):
        parse_default_image({**READ, "variant": "rocm"})

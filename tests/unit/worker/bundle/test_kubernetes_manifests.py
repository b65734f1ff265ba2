"""Every manifest of the map is taken from a module, with the tags of the map."""

from worker.bundle.kubernetes_manifests import MODULE_MANIFESTS, join_documents
from worker.bundle.sources import read_bundle_sources

SOURCES = read_bundle_sources()


def test_every_manifest_of_the_map_is_taken_from_a_module() -> None:
    assert set(MODULE_MANIFESTS) == set(SOURCES.manifests)
    assert {taken.module for taken in MODULE_MANIFESTS.values()} <= set(SOURCES.modules)


def test_an_image_without_a_tag_gets_the_one_of_the_map() -> None:
    text = join_documents(
        ["kind: A\nimage: ghcr.io/x/plugin\n", "- image: ghcr.io/x/plugin:v1"], "ghcr.io/x/plugin:v2"
    )
    assert text == "kind: A\nimage: ghcr.io/x/plugin:v2\n---\n- image: ghcr.io/x/plugin:v1\n"

"""Paths of the distribution's packages in the layer of network tools."""

from worker.bundle.go_programs import PROGRAMS
from worker.bundle.kubernetes_images import IMAGE_RECIPES, is_excluded_path, usr_merged_path
from worker.bundle.sources import read_bundle_sources


def test_what_lies_in_bin_and_lib_comes_into_usr() -> None:
    assert [
        usr_merged_path(name) for name in ("./", "./bin/sh", "./lib64/ld.so", "./usr/bin/ip", "./etc/x")
    ] == [
        "",
        "usr/bin/sh",
        "usr/lib64/ld.so",
        "usr/bin/ip",
        "etc/x",
    ]


def test_manuals_stay_out_and_every_copyright_stays() -> None:
    assert is_excluded_path("usr/share/man/man8/ip.8.gz") and is_excluded_path("usr/share/doc/kmod/README")
    assert is_excluded_path("usr/share/doc/kmod/examples/copyright")
    assert not is_excluded_path("usr/share/doc/kmod/copyright") and not is_excluded_path("usr/share/doc/kmod")
    assert not is_excluded_path("usr/sbin/nft")


SOURCES = read_bundle_sources()


def test_every_image_of_the_map_is_built_of_programs_that_are() -> None:
    assert {recipe.image for recipe in IMAGE_RECIPES} == set(SOURCES.images)
    built = {program.name for program in PROGRAMS}
    assert {name for recipe in IMAGE_RECIPES for name in recipe.programs.values()} <= built

"""Paths of the distribution's packages in the layer of network tools."""

from worker.bundle.kubernetes_images import is_excluded_path, usr_merged_path


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

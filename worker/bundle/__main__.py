"""Collects, verifies and compares offline bundles: ``groundcrew-bundle {download,build,verify,diff}``."""

import argparse
import platform
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cluster import words
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.system_packages import (
    IMAGE_BUILD_PACKAGES,
    IMAGE_COPY_PACKAGES,
    SystemRequirement,
    ensure_packages,
)
from worker.bootstrap.terminal import print_error, print_sentence
from worker.bundle import check
from worker.bundle.build import build_bundle
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.download import download_bundle
from worker.bundle.manifest import BundleManifest, list_differences, parse_bundle_manifest
from worker.bundle.mirrors import MirrorClient
from worker.bundle.shared_parts import BUNDLE_PARTS
from worker.bundle.sources import CLONE, read_bundle_sources

INSTALLED = Path("/etc/groundcrew/bundle.json")
BUILD_NEEDS = {"default-image": IMAGE_BUILD_PACKAGES}
DOWNLOAD_NEEDS = {**BUILD_NEEDS, "images": IMAGE_COPY_PACKAGES}
"""Packages of the system, by the part of a bundle."""
WITH = "vendors' packages besides: nvidia_driver, nvidia_container_toolkit, doca_ofed"


def main(arguments: list[str] | None = None) -> int:
    chosen = make_parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except (CollectingFailed, check.NotABundle, OSError) as failure:
        print_error("{failure}", failure=failure)
        return 1
    return code


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="groundcrew-bundle", description=__doc__)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="{download,build,verify,diff}")
    fetch = verbs.add_parser("download", help="take everything from where its publishers offer it")
    fetch.add_argument(
        "--instead", nargs="+", type=parse_mirror, default=[], metavar="HOST=ADDRESS", help="a site's mirrors"
    )
    fetch.add_argument("--with", nargs="+", default=[], dest="vendors", metavar="NAME", help=WITH)
    fetch.set_defaults(run=run_download)
    make = verbs.add_parser("build", help="make everything from modules, packages and wheels")
    make.set_defaults(run=run_build)
    for each in (fetch, make):
        each.add_argument("folder", type=Path)
        each.add_argument(
            "--only", nargs="+", choices=BUNDLE_PARTS, default=BUNDLE_PARTS, help="parts of it, to try it out"
        )
    verify = verbs.add_parser("verify", help="is every file what was collected?")
    verify.add_argument("folder", type=Path)
    verify.add_argument(
        "--installed", type=Path, help="a site's bundle.json: refuse a bundle older than that"
    )
    verify.set_defaults(run=run_verify)
    compare = verbs.add_parser("diff", help="what another bundle, or a site, has otherwise")
    compare.add_argument("folder", type=Path)
    compare.add_argument(
        "other", type=Path, nargs="?", default=INSTALLED, help="bundle or bundle.json of a site"
    )
    compare.set_defaults(run=run_diff)
    return made


def parse_mirror(text: str) -> tuple[str, str]:
    host, _, address = text.partition("=")
    if not host or "://" not in address:
        raise argparse.ArgumentTypeError(f"{text} is not as registry.k8s.io=https://mirror.lab/k8s")
    return host, address


def run_download(chosen: argparse.Namespace) -> int:
    product, folder = read_product_version(), chosen.folder.absolute()
    shop, fetcher = open_build_cache(chosen.only, DOWNLOAD_NEEDS), MirrorClient(dict(chosen.instead))
    now = datetime.now(UTC)
    download_bundle(folder, read_bundle_sources(), shop, product, now, fetcher, chosen.only, chosen.vendors)
    return print_summary(folder, shop)


def run_build(chosen: argparse.Namespace) -> int:
    product, folder = read_product_version(), chosen.folder.absolute()
    shop = open_build_cache(chosen.only, BUILD_NEEDS)
    build_bundle(folder, read_bundle_sources(), shop, product, datetime.now(UTC), chosen.only)
    return print_summary(folder, shop)


def run_verify(chosen: argparse.Namespace) -> int:
    read = check.read_manifest_file(chosen.folder)
    faults = list(check.find_faults(chosen.folder, read))
    if chosen.installed:
        faults += check.find_downgrade(read, load_manifest(chosen.installed))
    for fault in faults:
        print_error("{fault}", fault=fault)
    if faults:
        print_error(
            "The bundle in {folder} is not whole: {count} faults.", folder=chosen.folder, count=len(faults)
        )
        return 1
    manifest = parse_bundle_manifest(read)
    print_sentence("Bundle {version} is whole: {count} files, {size}.", **summary_facts(manifest))
    return 0


def run_diff(chosen: argparse.Namespace) -> int:
    """Ends with 1 where they differ, as diff does."""
    old, new = (
        parse_bundle_manifest(load_manifest(chosen.other)),
        parse_bundle_manifest(check.read_manifest_file(chosen.folder)),
    )
    print_sentence("From {old} to {new}", old=old.version, new=new.version)
    found = list_differences(old, new)
    for line in found:
        print_sentence("{line}", line=line)
    if not found:
        print_sentence("The same files.")
    return 1 if found else 0


def load_manifest(place: Path) -> dict[str, object]:
    """A bundle's folder, or the copy of its manifest that a site keeps."""
    return (
        check.read_manifest_file(place)
        if place.is_dir()
        else check.read_manifest_file(place.parent, place.name)
    )


def print_summary(folder: Path, shop: BuildCache) -> int:
    manifest = parse_bundle_manifest(check.read_manifest_file(folder))
    shop.report("done")
    print_sentence(
        "Bundle {version} in {folder}: {count} files, {size}.", folder=folder, **summary_facts(manifest)
    )
    return 0


def summary_facts(manifest: BundleManifest) -> dict[str, object]:
    size = words.format_size(manifest.size())
    return {"version": manifest.version, "count": len(manifest.files), "size": size}


def open_build_cache(parts: Sequence[str], needs: Mapping[str, Sequence[SystemRequirement]]) -> BuildCache:
    """Programs, packages and wheels are those of the machine that collects. Raises CollectingFailed.

    What a part needs of the system is there before the first one begins: an hour may lie between them.
    """
    if platform.machine() != "x86_64":
        raise CollectingFailed(
            f"A bundle is for x86_64 and made on such a machine; this one is {platform.machine()}."
        )
    cache = find_installation_paths().cache_dir
    if needed := [need for part in parts for need in needs.get(part, ())]:
        ensure_packages(needed, cache / "log" / "install.log")
    return BuildCache(cache / "bundle", cache / "log" / "bundle.log")


def read_product_version() -> str:
    if not (CLONE / "pyproject.toml").exists():
        raise CollectingFailed(
            "Bundles are made in a checkout (make bundle); installed, this verifies and compares."
        )
    return str(tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())

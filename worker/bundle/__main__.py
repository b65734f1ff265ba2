"""Collects, verifies and compares offline bundles: ``groundcrew-bundle {download,build,verify,diff}``."""

import argparse
import platform
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from worker.bundle import check
from worker.bundle.build import build
from worker.bundle.collecting import PARTS
from worker.bundle.diff import differences
from worker.bundle.download import download
from worker.bundle.fetch import Fetcher
from worker.bundle.manifest import Manifest, parse_manifest
from worker.bundle.registry import ALIASES
from worker.bundle.sources import CHECKOUT, read_sources
from worker.bundle.workshop import CollectingFailed, Workshop
from worker.embedded.packages import TO_BUILD_IMAGES, ensure_packages
from worker.embedded.places import find_places
from worker.embedded.say import complain, say

INSTALLED = Path("/etc/groundcrew/bundle.json")
WITH = "vendors' packages besides: nvidia_driver, nvidia_container_toolkit, doca_ofed"


def main(arguments: list[str] | None = None) -> int:
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except (CollectingFailed, check.NoBundle, OSError) as failure:
        complain("{failure}", failure=failure)
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="groundcrew-bundle", description=__doc__)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="{download,build,verify,diff}")
    fetch = verbs.add_parser("download", help="take everything from where its publishers offer it")
    fetch.add_argument(
        "--instead", nargs="+", type=mirror, default=[], metavar="HOST=ADDRESS", help="a site's mirrors"
    )
    fetch.add_argument("--with", nargs="+", default=[], dest="vendors", metavar="NAME", help=WITH)
    fetch.set_defaults(run=run_download)
    make = verbs.add_parser("build", help="make everything from modules, packages and wheels")
    make.set_defaults(run=run_build)
    for each in (fetch, make):
        each.add_argument("folder", type=Path)
        each.add_argument(
            "--only", nargs="+", choices=PARTS, default=PARTS, help="parts of it, to try it out"
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


def mirror(text: str) -> tuple[str, str]:
    host, _, address = text.partition("=")
    if not host or "://" not in address:
        raise argparse.ArgumentTypeError(f"{text} is not as registry.k8s.io=https://mirror.lab/k8s")
    return ALIASES.get(host, host), address


def run_download(chosen: argparse.Namespace) -> int:
    product, folder = product_version(), chosen.folder.absolute()
    shop, fetcher = new_workshop(chosen.only), Fetcher(dict(chosen.instead))
    now = datetime.now(UTC)
    download(folder, read_sources(), shop, product, now, fetcher, chosen.only, chosen.vendors)
    return sum_up(folder, shop)


def run_build(chosen: argparse.Namespace) -> int:
    product, folder = product_version(), chosen.folder.absolute()
    shop = new_workshop(chosen.only)
    build(folder, read_sources(), shop, product, datetime.now(UTC), chosen.only)
    return sum_up(folder, shop)


def run_verify(chosen: argparse.Namespace) -> int:
    read = check.read(chosen.folder)
    faults = list(check.find_faults(chosen.folder, read))
    if chosen.installed:
        faults += check.find_age(read, load(chosen.installed))
    for fault in faults:
        complain("{fault}", fault=fault)
    if faults:
        complain(
            "The bundle in {folder} is not whole: {count} faults.", folder=chosen.folder, count=len(faults)
        )
        return 1
    manifest = parse_manifest(read)
    say("Bundle {version} is whole: {count} files, {size}.", **sizes(manifest))
    return 0


def run_diff(chosen: argparse.Namespace) -> int:
    """Ends with 1 where they differ, as diff does."""
    old, new = parse_manifest(load(chosen.other)), parse_manifest(check.read(chosen.folder))
    say("From {old} to {new}", old=old.version, new=new.version)
    found = differences(old, new)
    for line in found:
        say("{line}", line=line)
    if not found:
        say("The same files.")
    return 1 if found else 0


def load(place: Path) -> dict[str, object]:
    """A bundle's folder, or the copy of its manifest that a site keeps."""
    return check.read(place) if place.is_dir() else check.read(place.parent, place.name)


def sum_up(folder: Path, shop: Workshop) -> int:
    manifest = parse_manifest(check.read(folder))
    shop.tell("done")
    say("Bundle {version} in {folder}: {count} files, {size}.", folder=folder, **sizes(manifest))
    return 0


def sizes(manifest: Manifest) -> dict[str, object]:
    size = f"{manifest.size() / 1e9:.2f} GB"
    return {"version": manifest.version, "count": len(manifest.files), "size": size}


def new_workshop(parts: Sequence[str]) -> Workshop:
    """Programs, packages and wheels are those of the machine that collects. Raises CollectingFailed.

    What the last part needs of the system is there before the first: an hour may lie between them.
    """
    if platform.machine() != "x86_64":
        raise CollectingFailed(
            f"A bundle is for x86_64 and made on such a machine; this one is {platform.machine()}."
        )
    cache = find_places().cache
    if "default-image" in parts:
        ensure_packages(TO_BUILD_IMAGES, cache / "log" / "install.log")
    return Workshop(cache / "bundle", cache / "log" / "bundle.log")


def product_version() -> str:
    if not (CHECKOUT / "pyproject.toml").exists():
        raise CollectingFailed(
            "Bundles are made in a checkout (make bundle); installed, this verifies and compares."
        )
    return str(tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())

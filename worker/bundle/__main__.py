"""Collects, signs, verifies and compares offline bundles: ``groundcrew-bundle {download,build,sign,verify,diff}``."""

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
from worker.bootstrap.terminal import print_error, print_sentence, terminal_text
from worker.bundle import check
from worker.bundle.build import build_bundle
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.download import download_bundle
from worker.bundle.manifest import BundleManifest, list_differences, parse_bundle_manifest
from worker.bundle.mirrors import MirrorClient
from worker.bundle.shared_parts import BUNDLE_PARTS
from worker.bundle.signing import default_signing_key, ensure_signing_key, sign_bundle
from worker.bundle.sources import CLONE, read_bundle_sources

INSTALLED = Path("/etc/groundcrew/bundle.json")
COMPILER_PACKAGES = (
    SystemRequirement(("gcc",), programs=("gcc",)),
    SystemRequirement(("pkg-config",), programs=("pkg-config",)),
    SystemRequirement(("libseccomp-dev",), files=("usr/include/seccomp.h",)),
)
BUILD_NEEDS = {"default-image": IMAGE_BUILD_PACKAGES, "packages": COMPILER_PACKAGES}
DOWNLOAD_NEEDS = {"default-image": IMAGE_BUILD_PACKAGES, "images": IMAGE_COPY_PACKAGES}
"""The packages of the system that each part of a bundle needs."""
WITH = "vendors' packages besides: nvidia_driver, nvidia_container_toolkit, doca_ofed"


def main(arguments: list[str] | None = None) -> int:
    chosen = make_parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except check.NotABundle as failure:
        sys.stderr.write(f"{in_terminal_language(failure.args[0])}\n")
        return 1
    except (CollectingFailed, OSError) as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    return code


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="groundcrew-bundle", description=__doc__)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="{download,build,sign,verify,diff}")
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
    sign = verbs.add_parser("sign", help="sign a bundle again, with another key")
    sign.add_argument("folder", type=Path)
    sign.set_defaults(run=run_sign)
    for each in (fetch, make, sign):
        each.add_argument(
            "--key",
            type=Path,
            default=default_signing_key(),
            help="the site's private key; made if it is missing",
        )
    verify = verbs.add_parser("verify", help="is every file what was collected, and signed by whom?")
    verify.add_argument("folder", type=Path)
    verify.add_argument("--signer", default="", metavar="KEY", help="the public key that must have signed it")
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
    ensure_signing_key(chosen.key)
    build_cache, fetcher = open_build_cache(chosen.only, DOWNLOAD_NEEDS), MirrorClient(dict(chosen.instead))
    now = datetime.now(UTC)
    download_bundle(
        folder, read_bundle_sources(), build_cache, product, now, fetcher, chosen.only, chosen.vendors
    )
    print_summary(folder, build_cache)
    return run_sign(chosen)


def run_build(chosen: argparse.Namespace) -> int:
    product, folder = read_product_version(), chosen.folder.absolute()
    ensure_signing_key(chosen.key)
    build_cache = open_build_cache(chosen.only, BUILD_NEEDS)
    build_bundle(folder, read_bundle_sources(), build_cache, product, datetime.now(UTC), chosen.only)
    print_summary(folder, build_cache)
    return run_sign(chosen)


def run_sign(chosen: argparse.Namespace) -> int:
    signer = sign_bundle(chosen.folder.absolute(), chosen.key)
    print_sentence(
        "Signed by {signer}. The private key is {key}: keep a copy.", signer=signer, key=chosen.key
    )
    return 0


def run_verify(chosen: argparse.Namespace) -> int:
    content, folder = check.read_manifest_bytes(chosen.folder), chosen.folder
    signer = check.check_signature(folder, content, check.find_trusted_signer(chosen.signer, None))
    read = check.parse_manifest(content, folder / check.MANIFEST)
    faults = list(check.find_faults(chosen.folder, read))
    if chosen.installed:
        faults += check.find_downgrade(read, load_manifest(chosen.installed))
    for fault in faults:
        sys.stderr.write(f"{in_terminal_language(fault)}\n")
    if faults:
        print_error(
            "The bundle in {folder} is not whole: {count} faults.", folder=chosen.folder, count=len(faults)
        )
        return 1
    manifest = parse_bundle_manifest(read)
    print_sentence("Bundle {version} is whole: {count} files, {size}.", **summary_facts(manifest))
    print_sentence("Signed by {signer}.", signer=check.fingerprint_of(signer))
    return 0


def run_diff(chosen: argparse.Namespace) -> int:
    """Prints the differences. The exit code is 1 if there are any, as that of diff."""
    old, new = (
        parse_bundle_manifest(load_manifest(chosen.other)),
        parse_bundle_manifest(check.read_manifest_file(chosen.folder)),
    )
    print_sentence("From {old} to {new}", old=old.version, new=new.version)
    found = list_differences(old, new)
    for line in found:
        sys.stdout.write(f"{line}\n")
    if not found:
        print_sentence("The same files.")
    return 1 if found else 0


def in_terminal_language(sentence: check.BundleSentence) -> str:
    return terminal_text(sentence.template, **sentence.data)


def load_manifest(place: Path) -> dict[str, object]:
    """Reads the manifest in a bundle's folder, or the copy of it that a site keeps."""
    return (
        check.read_manifest_file(place)
        if place.is_dir()
        else check.read_manifest_file(place.parent, place.name)
    )


def print_summary(folder: Path, build_cache: BuildCache) -> None:
    manifest = parse_bundle_manifest(check.read_manifest_file(folder))
    build_cache.print_progress("done")
    print_sentence(
        "Bundle {version} in {folder}: {count} files, {size}.", folder=folder, **summary_facts(manifest)
    )


def summary_facts(manifest: BundleManifest) -> dict[str, object]:
    size = words.format_size(manifest.size())
    return {"version": manifest.version, "count": len(manifest.files), "size": size}


def open_build_cache(parts: Sequence[str], needs: Mapping[str, Sequence[SystemRequirement]]) -> BuildCache:
    """Opens the cache for the programs, packages and wheels of this machine. Raises CollectingFailed.

    It first checks for all parts what they need of the system, because the parts together may take an hour.
    """
    if platform.machine() != "x86_64":
        raise CollectingFailed(
            "A bundle is for x86_64 and made on such a machine; this one is {machine}.",
            machine=platform.machine(),
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

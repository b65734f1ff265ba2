"""Builds a default image by hand, as root: ``python -m worker.images build --variant cpu --uv PATH``.

`ensure_site_images`, `push_site_images`, `restore_site_images` and `report_missing_images` are called by the role and
the repair of a site, with the site's settings. Each can be repeated and prints one line of JSON.
`restore_site_images` is a push that first reads everything that the registry has.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.domain.images import DefaultImage
from cluster.words.sentences import sentence
from worker.bootstrap.paths import find_installation_paths
from worker.environments.__main__ import ProgressPrinter, list_left_out_options
from worker.environments.build_platform import PYTHON, read_build_platform
from worker.environments.description import DEFAULT
from worker.environments.errors import BuildFailed
from worker.images import site_images
from worker.images.build import build_image
from worker.images.description import VARIANTS, ImageVariant, image_archive_path, read_variant
from worker.images.image_record import read_image_record
from worker.images.image_wheels import list_wheel_folders
from worker.images.pruning import prune_images
from worker.images.site_images import SITE_SETTINGS, ImageSite, read_image_site
from worker.images.site_registry import RegistryFailed

Answer = dict[str, Any]


def main(arguments: list[str]) -> int:
    cache = find_installation_paths().cache_dir
    parser = argparse.ArgumentParser(prog="python -m worker.images", description=__doc__)
    parser.add_argument("verb", choices=("build", "path", "record", "contents", "lock", *SITE_VERBS))
    parser.add_argument("--variant", choices=VARIANTS, default="cpu")
    parser.add_argument("--cache", type=Path, default=cache / "images", help="default: %(default)s")
    parser.add_argument("--wheels", type=Path, default=cache, help="where training environments are built")
    parser.add_argument("--uv", default=shutil.which("uv"), help="default: the one on PATH")
    parser.add_argument("--log", type=Path, help="default: build.log in the cache")
    parser.add_argument(
        "--settings", type=Path, default=SITE_SETTINGS, help="of the site; default: %(default)s"
    )
    chosen = parser.parse_args(arguments)
    if chosen.verb in ("build", "lock") and chosen.uv is None:
        parser.error("uv is not on PATH: name it with --uv")
    if chosen.verb == "lock":
        return lock_image_requirements(DEFAULT, chosen.uv)
    if chosen.verb in SITE_VERBS:
        return run_site_verb(chosen.verb, chosen.settings)
    variant = read_variant(chosen.variant)
    if chosen.verb == "build":
        return run_image_build(variant, chosen)
    archive = image_archive_path(variant, read_build_platform(PYTHON), chosen.cache)
    record = read_image_record(archive)
    print(archive if chosen.verb == "path" else format_record(record, chosen.verb))
    return 0 if record else 1


def format_record(record: DefaultImage | None, verb: str) -> str:
    if record is None:
        return "not built"
    if verb == "record":
        return json.dumps(record.to_data())
    return "\n".join(f"{each.library:<26} {each.version:<26} {each.purpose}" for each in record.contents)


def run_image_build(variant: ImageVariant, chosen: argparse.Namespace) -> int:
    log = chosen.log or chosen.cache / "build.log"
    try:
        uv = Path(chosen.uv).absolute()
        print(build_image(variant, chosen.cache, ProgressPrinter(), uv=uv, log=log, known=chosen.wheels))
    except BuildFailed as failure:
        return print_failure(failure)
    return 0


def run_site_verb(verb: str, settings: Path) -> int:
    try:
        site = read_image_site(settings)
    except (KeyError, ValueError) as failure:
        print(f"{settings} is damaged, run site.yml again: {failure!r}", file=sys.stderr)
        return 1
    except OSError as failure:
        return print_failure(failure)
    try:
        print(json.dumps(SITE_VERBS[verb](site)))
    except (BuildFailed, RegistryFailed, OSError) as failure:
        return print_failure(failure)
    return 0


def print_failure(failure: Exception) -> int:
    said = sentence(failure.code, failure.data, "en") if isinstance(failure, Unavailable) else str(failure)
    print(said, file=sys.stderr)
    return 1


def ensure_site_images(site: ImageSite) -> Answer:
    """Builds and pushes the site's images, then deletes old ones, so that the cache does not
    grow with each release.
    """
    report = ProgressPrinter(sys.stderr)
    is_built = site_images.ensure_archives(site, report)
    # The folders of all variants are kept, because a person may have built one by hand here.
    wheels = list_wheel_folders(map(read_variant, VARIANTS), read_build_platform(PYTHON), site.cache)
    gone = prune_images(
        site.cache, [archive for archive, _ in site_images.list_archives(site)], wheels, report
    )
    return {"changed": is_built or bool(gone), "deleted": [path.name for path in gone]}


def push_site_images(site: ImageSite) -> Answer:
    return {"changed": site_images.push_missing_images(site)}


def restore_site_images(site: ImageSite) -> Answer:
    return {"changed": site_images.push_missing_images(site, is_thorough=True)}


def report_missing_images(site: ImageSite) -> Answer:
    return {"missing": site_images.list_missing_images(site)}


def report_references(site: ImageSite) -> Answer:
    return {record.variant: site.registry.reference(record) for _, record in site_images.list_archives(site)}


SITE_VERBS = {
    "ensure": ensure_site_images,
    "push": push_site_images,
    "restore": restore_site_images,
    "missing": report_missing_images,
    "references": report_references,
}


def lock_image_requirements(folder: Path, uv: str) -> int:
    """Pins the newest versions that the .in files allow and that agree with the training environment's pins, with
    hashes.
    """
    plain = [
        "--quiet",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-annotate",
        "--no-header",
        "--upgrade",
    ]
    cpu = [
        "--universal",
        "--override",
        "overrides.txt",
        *list_left_out_options(folder),
        "-c",
        "requirements.txt",
    ]
    cuda = ["--python-platform", "x86_64-manylinux_2_28", "-c", "requirements.txt", "-c", "image-cpu.txt"]
    alone = cuda[:2]
    for name, options in (("image-cpu", cpu), ("image-cuda", cuda), ("image-cuda-compiler", alone)):
        command = [uv, "pip", "compile", *plain, "--python-version", "3.11", *options]
        subprocess.run(
            [*command, "-o", f"{name}.txt", f"{name}.in"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

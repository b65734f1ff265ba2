"""Root builds the default image, as the role does: ``python -m tests.adversaries.images CACHE IMAGES``.

All file work is the product's own. Played are the programs that fetch packages and make a distribution's system, so
that it ends where that would begin: what comes before is what the services may have a hand in.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from worker.environments.command_runner import CommandRunner
from worker.environments.errors import BuildFailed
from worker.environments.wheels import SUMS, sha256_of_file
from worker.images import build, site_images
from worker.images.description import read_variant
from worker.images.pruning import prune_images
from worker.images.root_filesystem import RootFilesystem
from worker.images.site_registry import SiteRegistry

VARIANT = "cpu"
ENDS_HERE = "environment.no_space"


def build_images(cache: Path, images: Path) -> str:
    """Why it ended, in words; empty where it came as far as the distribution's system."""
    place = site_images.ImageSite(
        registry=SiteRegistry("localhost", Path("/nonexistent"), Path("/nonexistent")),
        variants=(VARIANT,),
        cache=images,
        wheels=cache,
        bundle=None,
        uv=Path("/bin/false"),
        log=images / "build.log",
    )
    try:
        with played():
            site_images.ensure_archives(place, report)
    except (BuildFailed, OSError) as failure:
        why = str(getattr(failure, "code", failure))
        return "" if why == ENDS_HERE else why
    return "it was there already"


def clear_images(images: Path) -> None:
    """Deletes what a build has left, as the next one does."""
    if site_images.safe_files.find_replaceable_part(images) is None:
        prune_images(images, [], [], report)


def report(step: str, share: float, words: str) -> None:
    pass


@contextmanager
def played() -> Iterator[None]:
    def write_down(self: CommandRunner, command: Sequence[Any], **options: Any) -> list[str]:
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(map(str, command))}\n".encode())
        return []

    def end(self: RootFilesystem, *words: Any) -> None:
        raise BuildFailed(ENDS_HERE, log="")

    with ExitStack() as stack:
        stack.enter_context(patch.object(CommandRunner, "run", write_down))
        stack.enter_context(patch.object(RootFilesystem, "create", end))
        stack.enter_context(patch.object(build, "TOOLS", {}))
        stack.enter_context(patch.object(build, "check_free_space", lambda *words: None))
        yield


def packages_of_others(images: Path) -> list[str]:
    """What root would install or compile though nobody has pinned it: nothing was fetched, all of it was taken."""
    variant = read_variant(VARIANT)
    pinned = {
        found
        for file in (variant.requirements, variant.environment.source)
        for found in sums_in(file.read_text())
    }
    return [
        f"taken: {path}, which nobody has pinned"
        for path in sorted(images.glob("wheels-*/*"))
        if stat.S_ISREG(os.lstat(path).st_mode) and path.name != SUMS and sha256_of_file(path) not in pinned
    ]


def sums_in(text: str) -> set[str]:
    return set(re.findall("sha256:([0-9a-f]{64})", text))


def main(arguments: list[str]) -> int:
    cache, images = map(Path, arguments)
    why = build_images(cache, images)
    print(json.dumps({"ended": why, "taken": packages_of_others(images)}))
    clear_images(images)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

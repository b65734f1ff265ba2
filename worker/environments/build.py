"""Builds an environment: safe to repeat, to interrupt at any moment, and to start twice at once."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worker.environments import install, tools, verify
from worker.environments.commands import TICK_SECONDS, Commands, end_leftovers
from worker.environments.description import Description
from worker.environments.errors import NoSpace
from worker.environments.machine import (
    PYTHON,
    environment_digest,
    environment_path,
    read_machine,
    wheels_path,
)
from worker.environments.ready import Manifest, is_ready, write_manifest
from worker.environments.steps import Progress, Report, Step
from worker.environments.wheels import Wheels, download, flush_to_disk

LOCK = ".training.lock"


def build(
    description: Description,
    cache: Path,
    report: Report,
    *,
    uv: Path,
    log: Path,
    python: Path = PYTHON,
    offered: Path | None = None,
) -> Path:
    """The folder of the environment, there and whole afterwards; nothing happens where it already was.

    `offered` has in `<name of the wheels' folder>/` what another machine of the same kind compiled.

    Everything is made beside its place and renamed there when it is on the disk. Raises BuildFailed with
    the reason, or what `report` raised; the next call then begins where it is safe to.
    """
    tools.check_python(description, python)
    machine = read_machine(python)
    target = environment_path(description, machine, cache)
    if is_ready(target):
        return target
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with only_one(cache, report) as mark, full_disk_named(cache, log):
        if not is_ready(target):
            shop = install.Workshop(
                description=description,
                wheels=Wheels(wheels_path(description, machine, cache), offered),
                folder=target.with_name(f"{target.name}.building"),
                uv=uv,
                python=python,
                commands=Commands(log, mark),
            )
            _build_new(shop, target, environment_digest(description, machine), report)
    return target


@contextmanager
def only_one(cache: Path, report: Report) -> Iterator[str]:
    """Waits for another build of this cache and ends what a killed one left running. Yields the mark.

    The mark is that of the very file: a container has another cache under the same path, and its processes
    are seen from outside.
    """
    with (cache / LOCK).open("w") as lock:
        itself = os.fstat(lock.fileno())
        mark = f"{cache / LOCK}:{itself.st_dev}:{itself.st_ino}"
        while not _try_lock(lock.fileno()):
            report(Step.WAIT, 0.0, "")
            time.sleep(TICK_SECONDS)
        end_leftovers(mark)
        yield mark


def _build_new(shop: install.Workshop, target: Path, digest: str, report: Report) -> None:
    if shop.folder.exists():
        shutil.rmtree(shop.folder)
    progress = Progress(report, Step.CHECK_TOOLS)
    progress.tell(0.0)
    has_wheels = _check(shop, target.parent)
    progress.tell(1.0)
    shop.folder.mkdir(mode=0o755)
    progress = Progress(report, Step.DOWNLOAD)
    progress.tell(0.0)
    if has_wheels:
        shutil.rmtree(shop.wheels.partial, ignore_errors=True)
    else:
        download(shop.description, shop.wheels, shop.python, shop.commands, progress)
    progress.tell(1.0)
    progress = Progress(report, Step.INSTALL)
    install.install(shop, progress)
    progress = Progress(report, Step.COMPILE)
    progress.tell(0.0)
    package = shop.description.compiled.package
    wheel = shop.wheels.compiled(package)
    if wheel is None and (offered := shop.wheels.offered(package)):
        wheel = shop.wheels.keep_compiled(offered)
    wheel = wheel or install.compile_source(shop, progress)
    install.install_compiled(shop, wheel, progress)
    progress = Progress(report, Step.VERIFY)
    progress.tell(0.0)
    install.open_to_all(shop.environment)
    verify.verify(shop, progress)
    progress = Progress(report, Step.CONTENTS)
    contents = verify.list_contents(shop, progress)
    write_manifest(shop.environment, Manifest(digest, shop.description.variables, contents))
    _put_in_place(shop, target)
    progress.tell(1.0)


def _check(shop: install.Workshop, cache: Path) -> bool:
    """Whether the wheels are all there; raises ToolsMissing or NoSpace for what is still to be made."""
    disk = shop.description.disk
    has_wheels = shop.wheels.are_whole()
    needed = disk.environment
    if not has_wheels:
        tools.check_download(shop.python)
        needed += disk.wheels
    package = shop.description.compiled.package
    is_compiled = (has_wheels and shop.wheels.compiled(package)) or shop.wheels.offered(package)
    if not is_compiled:
        tools.check_compiler(shop.description, shop.python)
        needed += disk.compilation
    tools.check_space(cache, needed)
    return has_wheels


def _put_in_place(shop: install.Workshop, target: Path) -> None:
    for left in shop.folder.iterdir():
        if left.is_dir() and left != shop.environment:
            shutil.rmtree(left)
    flush_to_disk(shop.folder)
    if target.exists():
        # Damaged, or its interpreter is gone: nothing can be running in it.
        shutil.rmtree(target)
    shop.environment.rename(target)
    flush_to_disk(target)
    shutil.rmtree(shop.folder)


@contextmanager
def full_disk_named(cache: Path, log: Path) -> Iterator[None]:
    """A disk that fills up meanwhile is said in the same words as one that was full before."""
    try:
        yield
    except NoSpace as error:
        if "free" in error.data:
            raise
        raise _no_space(cache, log) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _no_space(cache, log) from error


def _no_space(cache: Path, log: Path) -> NoSpace:
    free = shutil.disk_usage(cache).free
    return NoSpace("environment.no_space", needed=None, free=free, path=str(cache), log=str(log))


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

"""Builds an image as an archive: safe to repeat, to interrupt at any moment, and to start twice at once."""

import os
import platform
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cluster.domain.images import Image, Part
from worker.environments.build import full_disk_named, only_one
from worker.environments.commands import PATH, Commands
from worker.environments.errors import BuildFailed
from worker.environments.machine import PYTHON, Machine, read_machine
from worker.environments.ready import Manifest, write_manifest
from worker.environments.steps import Progress, Report, Step
from worker.environments.tools import check_python, check_space, tools_missing
from worker.images import contents, cuda, python
from worker.images.archive import Layer, Packed, Setup, pack_layer, write_archive
from worker.images.description import PLACE, Variant, archive_path, inputs_digest
from worker.images.record import read_record, write_record
from worker.images.root import Root
from worker.images.system import forget_the_build, furnish, variables_of

OPT = "./opt"
TOOLS = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "ip": "iproute2"}
"""Programs and the packages that have them."""


def build(variant: Variant, cache: Path, report: Report, *, uv: Path, log: Path, known: Path) -> Path:
    """The archive, there and whole afterwards; nothing happens where it already was.

    `known` is a cache of training environments whose wheels are used. Needs root, for a file system of a distribution
    belongs to it. Raises BuildFailed with the reason, or what `report` raised.
    """
    machine = read_machine(PYTHON)
    target = archive_path(variant, machine, cache)
    if read_record(target) is not None:
        return target
    check(variant, cache)
    log.parent.mkdir(parents=True, exist_ok=True)
    with only_one(cache, report) as mark, full_disk_named(cache, log):
        if read_record(target) is None:
            folder = cache / f"{target.stem}.building"
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(mode=0o755)
            Build(variant, machine, cache, folder, Commands(log, mark), report).make(uv, known, target)
            shutil.rmtree(folder)
    return target


def check(variant: Variant, cache: Path) -> None:
    """Raises BuildFailed for what is missing before anything has begun."""
    if os.geteuid() != 0:
        raise BuildFailed("environment.needs_root", log="")
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    check_python(variant.environment, PYTHON)
    missing = [package for program, package in TOOLS.items() if shutil.which(program, path=PATH) is None]
    if missing:
        raise tools_missing(missing)
    check_space(cache, variant.disk)


class Build:
    """One build in a folder that the next one throws away where this one does not end."""

    def __init__(
        self,
        variant: Variant,
        machine: Machine,
        cache: Path,
        folder: Path,
        commands: Commands,
        report: Report,
    ) -> None:
        self.variant = variant
        self.machine = machine
        self.cache = cache
        self.folder = folder
        self.report = report
        self.variables = variables_of(variant.environment.variables, variant.user)
        for name in ("workshop", "layers"):
            (folder / name).mkdir(mode=0o755)
        self.root = Root(folder / "root", folder / "workshop", commands)

    def make(self, uv: Path, known: Path, target: Path) -> None:
        house = python.open_wheelhouse(self.variant, self.machine, self.cache, self.folder / "description")
        python.ensure_wheels(house, known, self.root.commands, self.step(Step.DOWNLOAD))
        self.root.make(self.variant.system, self.variant.system.packages, self.step(Step.SYSTEM).tick)
        furnish(self.root.path, self.variant.user, self.variant.environment.variables)
        python.install(self.root, uv, self.variant, house, self.step(Step.INSTALL))
        wheel = house.wheels.compiled(house.package) or self.compile(house)
        python.install_compiled(self.root, wheel, self.step(Step.INSTALL))
        cuda.let_the_loader_find(self.root, self.step(Step.INSTALL))
        contents.verify(self.root, self.variant, self.variables, self.step(Step.VERIFY))
        found = contents.list_contents(self.root, self.variant, self.step(Step.CONTENTS))
        forget_the_build(self.root.path)
        self.pack(found, target)

    def compile(self, house: python.Wheelhouse) -> Path:
        compiler = Root(self.folder / "compiler", self.root.workshop, self.root.commands)
        system = self.variant.system
        compiler.make(system, [*system.packages, *system.compiler], self.step(Step.SYSTEM).tick)
        if self.variant.compiler_requirements is not None:
            cuda.lay_out(self.root, self.variant.compiler_requirements, self.step(Step.INSTALL))
        opt = self.root.path / "opt"
        wheel = python.compile_source(compiler, opt, house, self.step(Step.COMPILE))
        shutil.rmtree(compiler.path)
        return wheel

    def pack(self, found: tuple[Part, ...], target: Path) -> None:
        """Two layers: a new Python environment on the same system is pulled without the system."""
        digest = inputs_digest(self.variant, self.machine)
        place = self.root.path / PLACE.relative_to("/")
        write_manifest(place, Manifest(digest, self.variant.environment.variables, found))
        progress = self.step(Step.PACK)
        made_at = datetime.now(UTC).replace(microsecond=0)
        system = self.layer(["."], f"Distribution {self.machine.system}", without=[OPT, "./dev/*"])
        progress.tell(0.4)
        packages = self.layer([OPT], f"Python environment {digest}")
        progress.tell(0.8)
        setup = Setup(
            architecture=platform.machine(),
            made_at=made_at,
            user=self.variant.user.number,
            folder=f"/home/{self.variant.user.name}",
            variables=self.variables,
            labels=self.labels(digest),
        )
        tag = f"{self.variant.name}-{digest}"
        packed = write_archive([system, packages], setup, f"{self.variant.image}:{tag}", target)
        write_record(target, self.record(packed, tag, made_at, found))
        progress.tell(1.0)

    def layer(self, parts: list[str], said: str, without: list[str] | None = None) -> Layer:
        return pack_layer(self.root.path, parts, self.folder / "layers", said, without or [])

    def labels(self, digest: str) -> Mapping[str, str]:
        return {
            "org.opencontainers.image.title": self.variant.image,
            "groundcrew.variant": self.variant.name,
            "groundcrew.inputs": digest,
        }

    def record(self, packed: Packed, tag: str, at: datetime, found: tuple[Part, ...]) -> Image:
        variant, system = self.variant, self.machine.system
        return Image(variant.image, variant.name, tag, packed.digest, packed.size, system, at, found)

    def step(self, step: Step) -> Progress:
        progress = Progress(self.report, step)
        progress.tell(0.0)
        return progress

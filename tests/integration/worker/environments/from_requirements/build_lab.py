"""A state directory and a folder of packages in which environments are built."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.environments.package_index import NO_INDEX
from cluster.domain.errors import GroundcrewError, Refused
from tests.machine.unix_id_ranges import TEST_IDS
from worker.environments.errors import BuildFailed
from worker.environments.from_requirements.build import build_from_requirements
from worker.environments.from_requirements.confinement import BuildLimits, has_processes
from worker.environments.from_requirements.orders import BuildRules, BuiltEnvironment, EnvironmentOrder
from worker.environments.from_requirements.package_source import PackageSource

IS_ROOT = os.geteuid() == 0
IDS = TEST_IDS.for_build(7) if IS_ROOT else None
UV = Path(sys.executable).parent / "uv"
only_as_root = pytest.mark.skipif(not IS_ROOT, reason="without root no build script is run")


@dataclass
class Lab:
    state: Path
    packages: Path
    limits: BuildLimits = BuildLimits(seconds=90)

    @property
    def target(self) -> Path:
        return self.state / "environments" / "7"

    @property
    def log(self) -> Path:
        return self.state / "log" / "operation-1.log"

    def build(self, requirements: str, report: object = None, **order: object) -> BuiltEnvironment:
        return build_from_requirements(
            EnvironmentOrder(self.target, requirements, **order),  # type: ignore[arg-type]
            BuildRules(PackageSource(NO_INDEX, self.packages), IDS, (self.state,), self.limits),
            report or (lambda step, share, detail: None),  # type: ignore[arg-type]
            uv=UV,
            log=self.log,
        )

    def refusal(self, requirements: str, **order: object) -> GroundcrewError:
        """Nothing is left of it, neither files nor processes."""
        with pytest.raises((Refused, BuildFailed)) as refused:
            self.build(requirements, **order)
        assert not self.target.with_name("7.building").exists()
        assert IDS is None or not has_processes(IDS.uid)
        return refused.value

"""One build by uv: choose versions and pin them, install, try the frameworks, take over the files."""

import hashlib
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.environments.build_failures import explain_build_failure
from cluster.domain.environments.requirements import RequirementLine, check_hashes, format_requirements
from cluster.files import safe_files
from cluster.files.safe_read import read_small_file
from cluster.redaction import redact_text
from worker.environments.build_platform import read_build_platform
from worker.environments.build_steps import BuildStep, BuildStepProgress, ProgressCallback
from worker.environments.errors import BuildFailed, BuildStepFailed, BuiltButNotWorking
from worker.environments.from_requirements.confinement import ConfinedCommands, LimitReached
from worker.environments.from_requirements.folder_hashes import add_folder_hashes
from worker.environments.from_requirements.installed_files import (
    InstalledFiles,
    read_contents,
    take_over_files,
)
from worker.environments.from_requirements.orders import BuildRules, BuiltEnvironment, EnvironmentOrder
from worker.environments.manifest import EnvironmentManifest, write_environment_manifest

PINS = "pins.txt"
MAX_PINS = 16 * 1024**2
LONGEST_EXPLANATION = 200
"""The number of lines of uv's output that are kept, in which the reason of a failure is searched."""
RECIPE_VERSION = "1"
MODULES = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "horovod": "horovod",
    "jax": "jax",
    "numpy": "numpy",
}
"""The module of each library that is imported when the finished environment is tried."""


@dataclass(frozen=True)
class RequirementsBuild:
    """Builds one environment in a folder of its own."""

    order: EnvironmentOrder
    rules: BuildRules
    lines: tuple[RequirementLine, ...]
    python: Path
    version: str
    uv: Path
    confined: ConfinedCommands
    report: ProgressCallback

    @property
    def environment(self) -> Path:
        return self.confined.folder / "environment"

    def run(self) -> BuiltEnvironment:
        pins = self.order.pins or self.resolve()
        self.install(pins)
        contents_python = read_full_version(self.python)
        self.try_modules(contents_python)
        progress = self.step(BuildStep.CONTENTS)
        builder = self.rules.ids.uid if self.rules.ids else None
        size = take_over_files(self.environment, builder)
        contents = read_contents(self.environment, contents_python)
        digest = digest_of(pins, self.version, self.python, self.order.base_digest)
        write_environment_manifest(self.environment, EnvironmentManifest(digest, {}, contents))
        progress.advance(1.0)
        return BuiltEnvironment(digest, pins, contents_python, InstalledFiles(size, contents))

    def step(self, step: BuildStep) -> BuildStepProgress:
        progress = BuildStepProgress(self.report, step)
        progress.advance(0.0)
        return progress

    def resolve(self) -> str:
        """The pins with their hashes. Raises Refused if they contradict hashes of the file."""
        progress = self.step(BuildStep.RESOLVE)
        self.write_input("requirements.in", format_requirements(self.lines))
        command: list[str | Path] = [self.uv, "pip", "compile", "--no-config", "--no-header", "--no-annotate"]
        command += ["--generate-hashes", "--no-strip-extras"]
        if self.order.base is not None:
            command.append("--no-deps")
        command += ["--python", self.python, *self.source_options(), "--output-file", PINS, "requirements.in"]
        self.run_uv(command, progress)
        content = read_small_file(self.confined.folder, PINS, limit=MAX_PINS)
        pins = (content or b"").decode("utf-8", "replace")
        if self.order.base is not None:
            pins = add_folder_hashes(pins, self.rules.source.folders)
        check_hashes(self.lines, pins)
        progress.advance(1.0)
        return pins

    def write_input(self, name: str, content: str) -> None:
        """Build scripts may have written in the folder before, so that no link is followed."""
        with safe_files.open_folder_path(self.confined.folder) as folder:
            safe_files.replace_file(folder, name, content.encode(), 0o644)

    def install(self, pins: str) -> None:
        progress = self.step(BuildStep.INSTALL)
        self.write_input("install.txt", pins)
        plain = ["--no-config", "--no-progress"]
        self.begin_environment(plain, progress)
        command: list[str | Path] = [
            self.uv,
            "pip",
            "install",
            *plain,
            "--no-deps",
            "--require-hashes",
            *self.source_options(),
        ]
        if self.rules.ids is not None:
            # Compiling runs the environment's own Python, and thereby what packages put into its start.
            command.append("--compile-bytecode")
        packages = len(re.findall(r"^\S+==", pins, re.MULTILINE))
        self.run_uv(
            [*command, "--python", self.environment / "bin" / "python", "--requirements", "install.txt"],
            progress,
            InstallProgress(progress, packages),
        )
        progress.advance(1.0)

    def begin_environment(self, plain: list[str], progress: BuildStepProgress) -> None:
        """Makes an environment that is empty or a copy of another one. The builder's user copies it, because the folder
        may contain links by now.
        """
        if self.order.base is not None:
            kept = "--preserve=mode,timestamps,links"
            copy: list[str | Path] = ["cp", "-R", "--no-dereference", kept, "--", self.order.base]
            self.confined.run([*copy, self.environment], {}, progress.report_again)
            return
        venv: list[str | Path] = [self.uv, "venv", *plain, "--no-project", "--relocatable"]
        self.run_uv([*venv, "--python", self.python, self.environment], progress)

    def source_options(self) -> list[str]:
        sources = [] if self.order.builds_sources else ["--only-binary", ":all:"]
        return [*self.rules.source.options, *sources]

    def run_uv(
        self,
        command: Sequence[str | Path],
        progress: BuildStepProgress,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Raises BuildFailed with uv's own reason."""
        variables = {
            **self.rules.source.variables(),
            "UV_CACHE_DIR": str(self.confined.folder / "cache"),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_LINK_MODE": "hardlink",
            "UV_CONCURRENT_BUILDS": "1",
        }
        lines: list[str] = []

        def follow(line: str) -> None:
            lines.append(line)
            del lines[:-LONGEST_EXPLANATION]
            if on_line:
                on_line(line)

        try:
            self.confined.run(command, variables, progress.report_again, follow)
        except LimitReached:
            raise
        except BuildFailed as failure:
            words = redact_text("\n".join(lines), self.rules.source.secrets)
            code, data = explain_build_failure(words, self.lines, failure.data.get("exit_code", 1))
            raise BuildFailed(code, **{"log": failure.data.get("log", ""), **data}) from failure

    def try_modules(self, python: str) -> None:
        """Imports the frameworks as a user without rights, as a job would. Nothing is run if this
        process is not root, because it cannot become such a user. Raises BuiltButNotWorking.
        """
        progress = self.step(BuildStep.VERIFY)
        if self.rules.ids is None:
            return
        installed = {part.library for part in read_contents(self.environment, python)}
        modules = sorted({module for library, module in MODULES.items() if library in installed})
        if modules:
            program = "".join(f"import {module}\n" for module in modules)
            try:
                self.confined.run(
                    [self.environment / "bin" / "python", "-I", "-B", "-c", program],
                    {},
                    progress.report_again,
                )
            except BuildStepFailed as failure:
                raise BuiltButNotWorking("environment.not_working", **failure.data) from failure
        progress.advance(1.0)


@dataclass
class InstallProgress:
    """Counts the packages that uv has downloaded or built, of which it writes a line each."""

    progress: BuildStepProgress
    packages: int
    done: int = 0

    def __call__(self, line: str) -> None:
        if found := re.match(r"\s*(Downloading|Building|Downloaded|Built|Prepared) (\S+)", line):
            self.done += found[1] in ("Downloaded", "Built")
            self.progress.advance(0.8 * self.done / (self.packages + 1), found[2])


def read_full_version(python: Path) -> str:
    answer = subprocess.run(
        [python, "-I", "-S", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.strip()


def digest_of(pins: str, version: str, python: Path, base_digest: str = "") -> str:
    """Two environments with the same digest have the same packages, for the same kind of machine."""
    platform = read_build_platform(python)
    facts = (RECIPE_VERSION, version, platform.system, platform.architecture, platform.libc)
    base = [base_digest] if base_digest else []
    return hashlib.sha256("\0".join([*facts, *base, pins]).encode()).hexdigest()

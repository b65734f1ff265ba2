"""The steps of a build and the parsers that turn output of pip and make into progress."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

ProgressCallback = Callable[[str, float, str], None]
"""The callback gets the step's code, its share done (0 to 1) and a name to show. It is called at least about every
second.

An exception of the callback ends the build at once. A task gives up its lease in this way, and a person cancels.
"""


class BuildStep(StrEnum):
    WAIT = "wait"
    """Another build is running on this machine. The step is left out if there is none."""
    CHECK_TOOLS = "check_tools"
    RESOLVE = "resolve"
    """Chooses the version of every package. Only environments from requirements have this step."""
    DOWNLOAD = "download"
    INSTALL = "install"
    COMPILE = "compile_horovod"
    VERIFY = "verify"
    CONTENTS = "contents"
    SYSTEM = "system"
    """Installs the distribution's packages. This step and the next one belong to images only."""
    PACK = "pack"


@dataclass
class BuildStepProgress:
    """The progress of one step. The share never decreases, and the last one is reported again on each tick."""

    report: ProgressCallback
    step: BuildStep
    share: float = 0.0
    detail: str = ""

    def advance(self, share: float, detail: str = "") -> None:
        self.share = max(self.share, min(share, 1.0))
        self.detail = detail or self.detail
        self.report_again()

    def report_again(self) -> None:
        self.report(self.step, self.share, self.detail)


@dataclass
class PipProgressParser:
    """Parses the output of pip: which file it downloads, and how much of the file is there."""

    progress: BuildStepProgress
    packages: int
    collected: int = field(default=0, init=False)
    name: str = field(default="", init=False)

    def __call__(self, line: str) -> None:
        if line.startswith("Collecting "):
            self.collected += 1
        elif downloading := re.match(r"\s*(?:Downloading|Using cached) (\S+)", line):
            self.name = downloading[1]
        part = 0.0
        if moved := re.match(r"Progress (\d+) of (\d+)$", line):
            part = int(moved[1]) / max(1, int(moved[2]))
        # pip downloads the packages one after the other and saves all of them at the end.
        self.progress.advance(max(0, self.collected - 1 + part) / (self.packages + 1), self.name)


# Make counts files, but the last few files include all of TensorFlow. Each pair is a share of files and the share of
# time that was measured for it.
FILES_AND_TIME = (
    *((0.0, 0.0), (0.14, 0.09), (0.43, 0.18), (0.67, 0.27), (0.75, 0.36), (0.81, 0.44), (0.89, 0.53)),
    *((0.92, 0.62), (0.95, 0.71), (0.96, 0.8), (0.97, 0.89), (1.0, 0.98)),
)


def time_share(files: float) -> float:
    """The share of time for a share of files, interpolated linearly between the measured points."""
    for (less, early), (more, late) in pairwise(FILES_AND_TIME):
        if files <= more:
            return early + (late - early) * (files - less) / (more - less)
    return FILES_AND_TIME[-1][1]


@dataclass
class MakeProgressParser:
    """Parses the output of make: `[ 42%] Building CXX object …/mpi_ops.cc.o`."""

    progress: BuildStepProgress

    def __call__(self, line: str) -> None:
        if built := re.match(r"\s*\[ *(\d{1,3})%\] (?:Building|Linking) ", line):
            name = re.split("[/ ]", line)[-1].strip()
            self.progress.advance(time_share(int(built[1]) / 100), name.removesuffix(".o"))

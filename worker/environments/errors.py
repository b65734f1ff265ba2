"""The errors of a build; each carries what a person can do about it."""

from cluster.domain.errors import Unavailable


class BuildFailed(Unavailable):
    """The data has `log`, where every line of the build stands, and what the code's sentence needs."""


class NoNetwork(BuildFailed):
    """The package index did not answer; `line` has the downloader's own words."""


class NoDiskSpace(BuildFailed):
    """`needed` (None once a build has begun) and `free` are bytes on the file system of `path`."""


class NoBuildMemory(BuildFailed):
    """The machine ended a compiler that wanted more memory than there was."""


class ToolsMissing(BuildFailed):
    """`packages` are the distribution's packages to install."""


class PythonUnsupported(BuildFailed):
    """`version` is what the machine has, `supported` what the environment knows."""


class PackageRefused(BuildFailed):
    """A downloaded file is not the one that was pinned; `line` has the downloader's own words."""


class BuildStepFailed(BuildFailed):
    """A command of the build ended with `exit_code`; `line` is the last thing that it said."""


class BuiltButNotWorking(BuildFailed):
    """Everything is installed, and yet TensorFlow or Horovod does not start; `line` says why."""

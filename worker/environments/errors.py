"""The errors of a build. The data of each error say what a person can do about it."""

from cluster.domain.errors import Unavailable


class BuildFailed(Unavailable):
    """A build has failed. The data contain `log`, the path of the complete output, and the values of the code's
    sentence.
    """


class NoNetwork(BuildFailed):
    """The package index did not answer. `line` is the message of the program that downloads."""


class NoSpaceForBuild(BuildFailed):
    """The disk is too full. `needed` (None once a build has begun) and `free` are bytes on
    the file system of `path`.
    """


class NoBuildMemory(BuildFailed):
    """The kernel killed a compiler because the machine had too little memory."""


class ToolsMissing(BuildFailed):
    """Packages of the distribution, named by `packages`, have to be installed first."""


class PythonUnsupported(BuildFailed):
    """No pins exist for the machine's Python `version`; `supported` lists those for which there are pins."""


class PackageRefused(BuildFailed):
    """A downloaded file has another hash than the pinned one. `line` is the message of the program that downloads."""


class BuildStepFailed(BuildFailed):
    """A command of the build ended with `exit_code`. `line` is the last line of its output."""


class BuiltButNotWorking(BuildFailed):
    """Everything is installed, but TensorFlow or Horovod does not start. `line` is the error."""

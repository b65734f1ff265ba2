"""Verify a built image and list the versions that are installed in it."""

import json
from collections.abc import Mapping

from cluster.domain.images import LibraryVersion
from worker.environments.build_steps import BuildStepProgress
from worker.environments.installation import PACKAGES
from worker.environments.verification import LIST_VERSIONS, TRY_TORCH, select_contents
from worker.images.description import ENVIRONMENT_PATH, ImageVariant
from worker.images.gpu_code import check_coverage
from worker.images.root_filesystem import RootFilesystem

# One rank is enough to load the compiled library. The launchers need a container engine and are tested elsewhere.
SELF_TEST = """
import tensorflow, sklearn.datasets, jupyterlab
import horovod.tensorflow as horovod
assert horovod.gloo_built() and horovod.mpi_built() and bool(horovod.nccl_built()) == {nccl}
horovod.init()
assert float(horovod.allreduce(tensorflow.constant(21.0), op=horovod.Sum)) == 21.0
"""

TRY_HOROVOD_WITH_TORCH = """
import torch
import horovod.torch as horovod
horovod.init()
assert float(horovod.allreduce(torch.tensor([21.0]), op=horovod.Sum)) == 21.0
"""


def verify_image(
    root: RootFilesystem, variant: ImageVariant, variables: Mapping[str, str], progress: BuildStepProgress
) -> None:
    """Runs the self-test as the image's own user; the machine needs no GPU. Raises BuiltButNotWorking."""
    programs = [SELF_TEST.format(nccl=has_gpu_code(variant)), TRY_TORCH]
    if variant.environment.compiled.variables.get("HOROVOD_WITH_PYTORCH") == "1":
        programs.append(TRY_HOROVOD_WITH_TORCH)
    for program in programs:
        root.try_inside(
            [f"{ENVIRONMENT_PATH}/bin/python", "-I", "-B", "-c", program],
            variables={**variables, "OMPI_MCA_plm": "isolated", "HOME": "/tmp"},
            on_tick=progress.report_again,
            user=variant.user.number,
        )


def has_gpu_code(variant: ImageVariant) -> bool:
    return variant.environment.compiled.variables.get("HOROVOD_GPU_OPERATIONS") == "NCCL"


def read_gpu_code(root: RootFilesystem, variant: ImageVariant) -> dict[str, dict[str, str]]:
    """How each library serves each compute capability, for the image's record. Raises BuiltButNotWorking."""
    if not has_gpu_code(variant):
        return {}
    (packages,) = (root.path / ENVIRONMENT_PATH.relative_to("/")).glob(PACKAGES)
    table = check_coverage(packages)
    return {each: {name: code.name.lower() for name, code in row.items()} for each, row in table.items()}


def list_image_contents(
    root: RootFilesystem, variant: ImageVariant, progress: BuildStepProgress
) -> tuple[LibraryVersion, ...]:
    """The versions of Python's libraries, then of the distribution's packages. Raises BuiltButNotWorking if one is
    missing.
    """
    python = [f"{ENVIRONMENT_PATH}/bin/python", "-I", "-B", "-c", LIST_VERSIONS]
    libraries = json.loads(root.try_inside(python, variables={}, on_tick=progress.report_again)[-1])
    packages = read_package_versions(root, variant, progress)
    return (
        *select_contents(variant.environment.purposes, libraries),
        *select_contents(variant.system_purposes, packages),
    )


def read_package_versions(
    root: RootFilesystem, variant: ImageVariant, progress: BuildStepProgress
) -> dict[str, str]:
    """The version of each distribution package that the description names. Raises BuiltButNotWorking if one is
    missing.
    """
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n", *variant.system_purposes]
    lines = root.try_inside(query, variables={}, on_tick=progress.report_again)
    return dict(line.split(" ", 1) for line in lines if " " in line)

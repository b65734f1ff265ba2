"""The table of contents, read from what stands in the image and not from what was asked for."""

import json
from collections.abc import Mapping

from cluster.domain.images import Part
from worker.environments.steps import Progress
from worker.environments.verify import LIST, choose_contents
from worker.images.description import PLACE, Variant
from worker.images.root import Root

# One rank is enough to load what was compiled; the launchers are tried by whoever has an engine.
TRY = """
import tensorflow, sklearn.datasets, jupyterlab
import horovod.tensorflow as horovod
assert horovod.gloo_built() and horovod.mpi_built() and bool(horovod.nccl_built()) == {nccl}
horovod.init()
assert float(horovod.allreduce(tensorflow.constant(21.0), op=horovod.Sum)) == 21.0
"""


def verify(root: Root, variant: Variant, variables: Mapping[str, str], progress: Progress) -> None:
    """As the image's own user, on a machine that may have no GPU. Raises NotWorking."""
    has_nccl = variant.environment.compiled.variables.get("HOROVOD_GPU_OPERATIONS") == "NCCL"
    root.try_out(
        [f"{PLACE}/bin/python", "-I", "-B", "-c", TRY.format(nccl=has_nccl)],
        variables={**variables, "OMPI_MCA_plm": "isolated", "HOME": "/tmp"},
        on_tick=progress.tick,
        user=variant.user.number,
    )


def list_contents(root: Root, variant: Variant, progress: Progress) -> tuple[Part, ...]:
    """Python's libraries first, then the distribution's packages. Raises NotWorking where one is missing."""
    python = [f"{PLACE}/bin/python", "-I", "-B", "-c", LIST]
    libraries = json.loads(root.try_out(python, variables={}, on_tick=progress.tick)[-1])
    packages = read_packages(root, variant, progress)
    return (
        *choose_contents(variant.environment.purposes, libraries),
        *choose_contents(variant.system_purposes, packages),
    )


def read_packages(root: Root, variant: Variant, progress: Progress) -> dict[str, str]:
    """Name and version of each of the distribution's packages that the description names. Raises NotWorking."""
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n", *variant.system_purposes]
    lines = root.try_out(query, variables={}, on_tick=progress.tick)
    return dict(line.split(" ", 1) for line in lines if " " in line)

"""Starts the kernel of a notebook in the environment of its job.

    python3 groundcrew_notebooks/kernel.py -f <connection file>

An environment that has ipykernel uses its own. Any other gets the one of JupyterLab's environment at the end of its
path. Both environments must then have the same version of Python, because parts of ipykernel are compiled.
"""

import importlib
import importlib.util
import os
import sys

EXIT_NO_KERNEL = 78


def main() -> None:
    # The folder of this file is the first on the path. Modules of the job runtime are on PYTHONPATH already.
    sys.path.pop(0)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if importlib.util.find_spec("ipykernel") is None:
        theirs = os.environ.get("GROUNDCREW_EDITOR_VERSION", "")
        if own != theirs:
            sys.stderr.write(
                f"groundcrew: this environment has Python {own} and no ipykernel, and the editor has Python {theirs}. "
                "Add ipykernel to the environment.\n"
            )
            sys.exit(EXIT_NO_KERNEL)
        sys.path.extend(os.environ["GROUNDCREW_EDITOR_LIBRARIES"].split(os.pathsep))
    sys.argv[0] = "ipykernel_launcher"
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    main()

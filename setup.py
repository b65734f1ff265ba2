"""Puts the howtos of the documentation into the wheel, where installed portals read them. The rest: pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HOWTOS = Path(__file__).parent / "docs" / "howto"


class BuildWithHowtos(build_py):
    """Copies `docs/howto` into the package `portal`. A checkout has the files once: its portal reads them there."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copytree(HOWTOS, Path(self.build_lib) / "portal" / "howto", dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithHowtos})

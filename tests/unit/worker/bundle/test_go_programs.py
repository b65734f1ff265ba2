"""Every program is pinned by version and sum."""

from worker.bundle.go_programs import FOLDERS, OWN_PACKAGE, PROGRAMS, module_of_program
from worker.bundle.sources import read_bundle_sources

SOURCES = read_bundle_sources()


def test_every_program_is_pinned_by_version_and_sum() -> None:
    for program in PROGRAMS:
        module = module_of_program(program, SOURCES.modules)
        pinned = (FOLDERS / program.folder / "go.mod").read_text()
        if module is None:
            assert program.package == OWN_PACKAGE and (FOLDERS / program.folder / "main.go").exists()
            continue
        assert f"{module.path} {module.version}" in pinned, program.name
        assert f"{module.path} {module.version} h1:" in (FOLDERS / program.folder / "go.sum").read_text()

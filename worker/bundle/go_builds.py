"""Builds the programs of Kubernetes and its add-ons from the modules that the Go module proxy serves."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.bundle import licences
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.go_programs import EXCLUDED_BACKENDS, FOLDERS, OWN_PACKAGE, GoProgram, module_of_program
from worker.bundle.sources import Module

ABOUT = "about.json"
TEXTS = "licences.txt"
LIST = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}"


@dataclass(frozen=True)
class BuiltProgram:
    program: GoProgram
    path: Path
    version: str
    licence: str
    """Of everything that is linked into it."""
    source: str
    texts: Path
    """The licences' words, which go with the program."""


def ensure_program(program: GoProgram, modules: Mapping[str, Module], shop: BuildCache) -> BuiltProgram:
    """The program, built or kept from before."""
    module = module_of_program(program, modules)
    folder = FOLDERS / program.folder
    pins = [file.read_bytes() for file in sorted(folder.iterdir())]
    described = [
        read_go_version(shop),
        program.package,
        program.flags(module),
        str(program.needs_c),
        str(module),
    ]
    inputs: list[str | bytes] = [*described, *pins]

    def make(building: Path) -> None:
        shop.report("building {name} {version}", name=program.name, version=module.version if module else "")
        _build(program, module, folder, building, shop)

    made = shop.build_once(f"go-{program.name}", inputs, make)
    about = json.loads((made / ABOUT).read_text())
    return BuiltProgram(
        program, made / program.name, about["version"], about["licence"], about["source"], made / TEXTS
    )


def read_go_version(shop: BuildCache) -> str:
    try:
        return shop.run(["go", "env", "GOVERSION"]).strip()
    except FileNotFoundError as error:
        raise CollectingFailed("There is no Go on this machine: install Go 1.26.8 or newer.") from error


def _build(program: GoProgram, module: Module | None, folder: Path, building: Path, shop: BuildCache) -> None:
    work = building / "work"
    shutil.copytree(folder, work)
    if program.package == OWN_PACKAGE and not (work / "main.go").exists():
        assert module is not None
        _take_main(module, work, shop)
    variables = {"CGO_ENABLED": "1" if program.needs_c else "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    command = [
        "go",
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        program.flags(module),
    ]
    shop.run([*command, "-o", building / program.name, program.package], folder=work, more=variables)
    listed = shop.run(["go", "list", "-deps", "-f", LIST, program.package], folder=work, more=variables)
    linked = sorted({tuple(line.split("\t")) for line in listed.splitlines() if line.count("\t") == 2})
    others = [(path, version, Path(place)) for path, version, place in linked if version and place]
    write_licence_texts(building / TEXTS, others)
    about = {
        "version": module.version if module else "1",
        "licence": licences.join_licences(
            ["Apache-2.0", *(licences.licence_of_folder(place) for _, _, place in others)]
        ),
        "source": f"Go module {module.path} {module.version}" if module else "this product",
    }
    (building / ABOUT).write_text(json.dumps(about))
    shutil.rmtree(work)


def _take_main(module: Module, work: Path, shop: BuildCache) -> None:
    """Upstream's own main without the backends that cannot be built."""
    lines = (find_module_folder(module, work, shop) / "main.go").read_text().splitlines(keepends=True)
    kept = [line for line in lines if not any(f'{part}"' in line for part in EXCLUDED_BACKENDS)]
    (work / "main.go").write_text("".join(kept))


def find_module_folder(module: Module, pinned: Path, shop: BuildCache) -> Path:
    """Where Go keeps the module's files; `pinned` has the go.sum to which what was fetched is held."""
    command = ["go", "mod", "download", "-json", f"{module.path}@{module.version}"]
    return Path(json.loads(shop.run(command, folder=pinned, more={"GOWORK": "off"}))["Dir"])


def write_licence_texts(target: Path, linked: list[tuple[str, str, Path]]) -> None:
    """One file with the words of each module's licence, and Go's own among the first lines."""
    parts = ["The Go runtime and library: BSD-3-Clause, https://go.dev/LICENSE\n"]
    for path, version, place in linked:
        words = "\n".join(file.read_text(errors="replace") for file in licences.list_licence_files(place))
        parts.append(f"\n==== {path} {version}\n\n{words}")
    target.write_text("".join(parts))

"""A folder of packages as a site without network has it: wheels, and sources whose build scripts may be hostile."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

BACKEND = """
import base64, hashlib, json, os, zipfile

NAME, VERSION = {name!r}, {version!r}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    found = {{}}
{script}
    files = {{
        NAME + ".py": "FOUND = " + json.dumps(found),
        "%s-%s.dist-info/METADATA" % (NAME, VERSION):
            "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (NAME, VERSION),
        "%s-%s.dist-info/WHEEL" % (NAME, VERSION):
            "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    record = "%s-%s.dist-info/RECORD" % (NAME, VERSION)
    lines = "".join("%s,,\\n" % name for name in [*files, record])
    wheel = "%s-%s-py3-none-any.whl" % (NAME, VERSION)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w") as archive:
        for name, text in [*files.items(), (record, lines)]:
            archive.writestr(name, text)
    return wheel
"""


def add_wheel(folder: Path, name: str, version: str, needs: str = "", **files: str) -> Path:
    """`files` by the name of their module.

    Modules of two versions differ in length: Python takes a compiled file for that of its source by the source's length
    and the second of its time, and tests install two versions in the same second.
    """
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    contents = {
        f"{name}.py": f"VERSION = {version!r}\n" + "\n" * (sum(version.encode()) % 97),
        **{f"{module}.py": text for module, text in files.items()},
        f"{info}/METADATA": metadata + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{sum_of(text)},{len(text)}\n" for path, text in contents.items())
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return wheel


def add_source(folder: Path, name: str, version: str, script: str) -> Path:
    """A source package whose build runs `script`, which may fill the dictionary `found`: the package's `FOUND`."""
    indented = "".join(f"    {line}\n" for line in script.splitlines())
    contents = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n',
        "backend.py": BACKEND.format(name=name, version=version, script=indented),
    }
    archive = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path, text in contents.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return archive


def sum_of(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"


def read_found(environment: Path, name: str) -> dict[str, object]:
    """What a build script has found, read without running it."""
    (module,) = environment.glob(f"lib/python*/site-packages/{name}.py")
    found: dict[str, object] = json.loads(module.read_text().removeprefix("FOUND = "))
    return found

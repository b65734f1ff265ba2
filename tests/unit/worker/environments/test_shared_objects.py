"""What a shared library needs and has is read from the file, as readelf and nm read it."""

import subprocess
from pathlib import Path

import pytest

from worker.environments.shared_objects import SharedObject

SOURCE = """
#include <math.h>
#include <stdio.h>
double computed(double value) { return printf("%f", value) + cos(value); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("library") / "libsmall.so"
    words = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(target), "-Wl,--no-as-needed", "-lm"]
    subprocess.run(words, input=SOURCE, text=True, check=True)
    return target


def ask(*words: str | Path) -> list[list[str]]:
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"LC_ALL": "C"})
    return [line.split() for line in done.stdout.splitlines()]


def test_a_text_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("INPUT(libx.so.1)\n")
    with pytest.raises(ValueError, match="no shared library"):
        SharedObject(tmp_path / "lib.so")


def test_needed_libraries_and_their_versions(library: Path) -> None:
    with SharedObject(library) as opened:
        assert opened.needed() == ("libm.so.6", "libc.so.6")
        assert {need.library for need in opened.version_needs()} <= {"libm.so.6", "libc.so.6"}


def test_symbols_are_those_of_nm(library: Path) -> None:
    nm = ask("/usr/bin/nm", "--dynamic", "--no-sort", library)
    with SharedObject(library) as opened:
        symbols = {symbol.name: symbol for symbol in opened.symbols()}
    assert symbols.keys() == {line[-1].partition("@")[0] for line in nm}
    assert symbols["computed"].is_defined and not symbols["cos"].is_defined
    assert symbols["cos"].version > 1, "a symbol of libm has a version"


def test_segments_are_those_of_readelf(library: Path) -> None:
    lines = ask("/usr/bin/readelf", "--segments", "--wide", library)
    loads = [(int(line[1], 16), int(line[4], 16)) for line in lines if line[:1] == ["LOAD"]]
    with SharedObject(library) as opened:
        assert [(each.offset, each.file_size) for each in opened.segments() if each.kind == 1] == loads

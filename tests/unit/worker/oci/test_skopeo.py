"""skopeo gets its words, its login and its mirrors from files that are on no disk; what it says is shown in a line."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from worker.oci import skopeo
from worker.oci.skopeo import (
    RegistryLogin,
    SkopeoFailed,
    parse_error,
    pull_image,
    push_archive,
    render_mirrors,
)

LOGIN = RegistryLogin("gpu-master:5443", "groundcrew", "0123abcd")
FATAL = 'time="2026-11-23T08:01:00Z" level=fatal msg="reading manifest 1 in \\"m\\": StatusCode: 404"'


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its words, and the content of each file that they name; ends as the file `ends` says."""
    program = tmp_path / "bin/skopeo"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do\n'
        '  echo "$word"; case "$word" in /proc/self/fd/*) cat "$word"; echo;; esac\n'
        f"done >{tmp_path}/calls\n"
        f"[ ! -e {tmp_path}/ends ] || {{ cat {tmp_path}/ends >&2; exit 1; }}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path / "calls"


def test_an_archive_is_pushed_with_its_digest_and_a_login_that_no_disk_has(calls: Path) -> None:
    push_archive(Path("/image.tar"), "gpu-master:5443/a:1", Path("/trust"), LOGIN)
    words = calls.read_text().splitlines()
    assert words[0] == "copy" and "--preserve-digests" in words
    assert words[words.index("--dest-cert-dir") + 1] == "/trust"
    at = words.index("--authfile") + 1
    assert words[at].startswith("/proc/self/fd/")
    assert json.loads(words[at + 1])["auths"] == {"gpu-master:5443": {"auth": "Z3JvdW5kY3JldzowMTIzYWJjZA=="}}
    assert words[-2:] == ["oci-archive:/image.tar", "docker://gpu-master:5443/a:1"]


def test_an_image_is_pulled_for_the_platform_of_a_bundle(calls: Path) -> None:
    pull_image("ghcr.io/a:1", Path("/folder"), {})
    words = calls.read_text().splitlines()
    assert words[: words.index("copy")] == ["--override-os", "linux", "--override-arch", "amd64"]
    assert words[-2:] == ["docker://ghcr.io/a:1", "dir:/folder"]


def test_mirrors_are_asked_in_the_place_of_registries(calls: Path) -> None:
    pull_image("ghcr.io/a:1", Path("/folder"), {"ghcr.io": "https://mirror.lab/g/"})
    words = calls.read_text().splitlines()
    assert words[0] == "--registries-conf" and words[1].startswith("/proc/self/fd/")
    assert words[2] == "[[registry]]" and 'location = "mirror.lab/g"' in words


@pytest.mark.parametrize(
    ("address", "location", "insecure"),
    [
        ("https://mirror.lab", "mirror.lab", False),
        ("https://mirror.lab:5000/k8s/", "mirror.lab:5000/k8s", False),
        ("http://127.0.0.1:80", "127.0.0.1:80", True),
    ],
)
def test_a_mirror_without_tls_is_the_only_insecure_one(address: str, location: str, insecure: bool) -> None:
    read = tomllib.loads(render_mirrors({"docker.io": address, 'a"b': "https://other"}).decode())
    assert read["registry"] == [
        {"prefix": "docker.io", "location": location, "insecure": insecure},
        {"prefix": 'a"b', "location": "other", "insecure": False},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a warning\n{FATAL}\n", 'reading manifest 1 in "m": StatusCode: 404'),
        ("plain words\n", "plain words"),
        ("", ""),
        (FATAL.replace("reading", "r" * 400), "r" * 300),
    ],
)
def test_an_error_is_its_message_alone(text: str, message: str) -> None:
    assert parse_error(text) == message


@pytest.mark.parametrize(("said", "line"), [(FATAL, "StatusCode: 404"), ("", "skopeo ended with 1")])
def test_what_fails_is_said_in_skopeos_words(calls: Path, said: str, line: str) -> None:
    calls.with_name("ends").write_text(said)
    with pytest.raises(SkopeoFailed, match=line):
        pull_image("ghcr.io/a:1", Path("/folder"), {})


def test_a_file_in_memory_goes_with_its_block() -> None:
    with skopeo.memory_file(b"secret") as held:
        assert Path(skopeo.path_of(held)).read_bytes() == b"secret"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held)

"""Requirements files: packages and versions are read, everything else is refused by its line."""

import pytest

from cluster.domain.environments.requirements import (
    RequirementLine,
    check_hashes,
    format_requirements,
    line_of,
    parse_requirements,
)
from cluster.domain.errors import Refused

SUM = "a" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch==2.7.1", [(1, "torch", "torch==2.7.1")]),
        (
            "\ufeff# first\n\nNumPy>=2,<3  # newest\r\ntqdm\n",
            [(3, "numpy", "NumPy>=2,<3"), (4, "tqdm", "tqdm")],
        ),
        (
            "jax[cpu]>=0.4 ; python_version >= '3.10'",
            [(1, "jax", "jax[cpu]>=0.4 ; python_version >= '3.10'")],
        ),
        (f"six==1.17.0 \\\n    --hash=sha256:{SUM}\nzipp", [(1, "six", "six==1.17.0"), (3, "zipp", "zipp")]),
        ("typing_extensions", [(1, "typing-extensions", "typing_extensions")]),
        ("six==1.17.0 \\", [(1, "six", "six==1.17.0")]),
    ],
)
def test_packages_are_read_with_their_lines(text: str, expected: list[tuple[int, str, str]]) -> None:
    assert [(line.line, line.name, line.text) for line in parse_requirements(text)] == expected


REFUSED = {
    "-e .": "line_editable",
    "--editable=git+https://host/x": "line_editable",
    "-r other.txt": "line_other_file",
    "-cconstraints.txt": "line_option",
    "--constraint x": "line_other_file",
    "--index-url https://evil.example/simple": "line_index",
    "-i https://evil.example": "line_index",
    "--extra-index-url=https://evil.example": "line_index",
    "--find-links /root": "line_index",
    "-f /root": "line_index",
    "--trusted-host evil.example": "line_index",
    "--no-binary :all:": "line_option",
    "--config-settings x=y": "line_option",
    "-": "line_option",
    "six==${SECRET}": "line_variable",
    "six @ https://evil.example/$HOME": "line_variable",
    "git+https://evil.example/x.git": "line_repository",
    "six @ git+ssh://git@evil.example/x": "line_repository",
    "hg+http://evil.example": "line_repository",
    "six @ https://evil.example/six.whl": "line_address",
    "https://evil.example/six.tar.gz": "line_address",
    "file:///etc/passwd": "line_address",
    "file:/etc/passwd": "line_address",
    "six @ file:///root/x": "line_address",
    "six@/root/x": "line_address",
    "./six": "line_path",
    "../six": "line_path",
    "/root/six": "line_path",
    "~/six": "line_path",
    "six-1.17.0-py3-none-any.whl": "line_path",
    "six.tar.gz": "line_path",
    "dist/six.zip": "line_path",
    "\\\\server\\six": "line_path",
    "six==": "line_unreadable",
    "six 1.17": "line_unreadable",
    "six; this is no marker": "line_unreadable",
    "six\x00": "line_unreadable",
    "; rm -rf /": "line_unreadable",
    "$(id)": "line_variable",
    "`id`": "line_unreadable",
    "여섯": "line_unreadable",
    "six ; " + "(" * 900: "line_unreadable",
    "six==" + "1" * 1000: "line_too_long",
}


@pytest.mark.parametrize("line", REFUSED)
def test_everything_else_is_refused_by_its_line(line: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_requirements(f"numpy\n# a comment\n{line}\ntqdm\n")
    assert (refusal.value.field, refusal.value.code) == ("requirements", f"environment.{REFUSED[line]}")
    assert refusal.value.data["line"] == 3
    shown = refusal.value.data.get("text", "")
    assert len(shown) <= 80 and shown.isprintable()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "requirements_empty"),
        ("# nothing\n\n\\\n", "requirements_empty"),
        ("\n" * 1_000_000, "requirements_too_large"),
        ("a\n" * 2001, "requirements_too_many_lines"),
        ("a\n" * 501, "requirements_too_many"),
        ("é" * 140_000, "requirements_too_large"),
    ],
)
def test_files_that_nobody_means_are_refused_as_a_whole(text: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_requirements(text)
    assert refusal.value.code == f"environment.{code}"


def test_the_resolver_reads_only_what_the_parser_has_read() -> None:
    lines = parse_requirements(f"Six==1.17.0 --hash=sha256:{SUM}  # a comment\n\nnumpy\n")
    assert format_requirements(lines) == "Six==1.17.0\nnumpy\n"
    assert line_of(lines, "SIX") == RequirementLine(1, "six", "Six==1.17.0", frozenset({f"sha256:{SUM}"}))
    assert line_of(lines, "zipp") is None


def test_hashes_of_the_file_are_held_against_what_was_found() -> None:
    lines = parse_requirements(f"numpy\nsix==1.17.0 --hash=sha256:{SUM} --hash=sha256:{'b' * 64}\n")
    found = f"numpy==2.1.3 \\\n    --hash=sha256:{'c' * 64}\nsix==1.17.0 \\\n    --hash=sha256:"
    check_hashes(lines, f"{found}{'b' * 64}\n")
    with pytest.raises(Refused) as refusal:
        check_hashes(lines, f"{found}{'d' * 64}\n")
    assert refusal.value.data == {"line": 2, "package": "six"}

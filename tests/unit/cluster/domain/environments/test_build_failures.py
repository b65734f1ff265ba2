"""Why a build failed is read from uv's own words; the sentence names the line that asked for the package."""

import time

import pytest

from cluster.domain.environments.build_failures import explain_build_failure
from cluster.domain.environments.requirements import parse_requirements
from cluster.words import sentence

LINES = parse_requirements("numpy\nsix==99\nhorovod==0.28.1\nno-such-thing\nbroken-source\n")
NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
END = ", we can conclude that your requirements are unsatisfiable."
MISSING = "was not found in the package registry"
SAID = {
    f"{NO_SOLUTION}Because no-such-thing {MISSING} and you require no-such-thing{END}": (
        "package_missing",
        4,
    ),
    f"{NO_SOLUTION}Because deep-thing {MISSING} and six==99 depends on deep-thing{END}": (
        "package_missing",
        None,
    ),
    f"{NO_SOLUTION}Because there is no version of six==99 and you require six==99{END}": (
        "version_missing",
        2,
    ),
    f"{NO_SOLUTION}Because only numpy>=1.3.0 is available and you require numpy<1.0{END}": (
        "version_missing",
        1,
    ),
    f"{NO_SOLUTION}Because horovod==0.28.1 has no usable wheels and you require horovod==0.28.1{END}\n\nhint: Wheels": (
        "needs_source",
        3,
    ),
    f"{NO_SOLUTION}Because all versions of six have no wheels with a matching Python ABI tag{END}": (
        "no_solution",
        None,
    ),
    f"{NO_SOLUTION}Because you require urllib3==2.9.0 and urllib3==1.0{END}": ("no_solution", None),
    "  × Failed to build `broken-source==1.0`\n  ├─▶ The build backend returned an error": (
        "source_build_failed",
        5,
    ),
    "error: Failed to download `six==99`\n  Caused by: No space left on device (os error 28)": (
        "no_space",
        None,
    ),
    "error: Request failed after 3 retries\n  Caused by: error sending request for url (http://127.0.0.1:9/)": (
        "no_network",
        None,
    ),
    "thread 'main' panicked": ("step_failed", None),
    "": ("step_failed", None),
}
"""Output of uv 0.13; the last ones are of programs that it started."""


@pytest.mark.parametrize("words", SAID)
def test_the_reason_is_read_from_uvs_words(words: str) -> None:
    code, line = SAID[words]
    found, data = explain_build_failure(words, LINES, -9)
    assert found == f"environment.{code}"
    assert data.get("exit_code") == (-9 if code == "step_failed" else None)
    assert (data.get("line") if isinstance(data.get("line"), int) else None) == line
    for language in ("en", "ko"):
        assert "…" not in sentence(found, {"free": 1, "path": "/", **data}, language)


@pytest.mark.parametrize("begin", ["", "Because ", "Failed to build ", "Because only ", "`"])
@pytest.mark.parametrize("letters", ["a", "a.", "a-"])
def test_words_of_any_length_are_read_at_once(begin: str, letters: str) -> None:
    """Build scripts write into uv's output, and while an expression is searched nothing else runs in the process."""
    words = begin + letters * 32_000
    begun = time.process_time()
    codes = {"Failed to build ": "source_build_failed", "Because only ": "version_missing"}
    code = codes.get(begin, "step_failed")
    assert explain_build_failure(words, LINES, 1)[0] == f"environment.{code}"
    assert time.process_time() - begun < 1

"""A forked service ends with the code with which Python would end."""

import pytest

from worker.embedded.forked_service import exit_code


@pytest.mark.parametrize(("given", "code"), [(None, 0), (0, 0), (3, 3), (True, 1), ("a sentence", 1)])
def test_the_exit_code_is_pythons(given: object, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(SystemExit(given)) == code
    assert capsys.readouterr().err == ("a sentence\n" if given == "a sentence" else "")

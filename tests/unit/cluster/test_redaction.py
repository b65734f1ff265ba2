"""Redaction hides secrets and keeps everything else readable."""

import pytest

from cluster.redaction import redact_text


@pytest.mark.parametrize(
    "text", ["0123456789abcdef" * 4, "job-1042 on lab-a", "a_very_long_name_of_a_function_that_has_43_signs"]
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text, []) == text

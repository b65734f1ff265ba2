"""Redaction hides secrets and keeps everything else readable."""

import pytest

from cluster.redaction import REDACTED, redact_settings, redact_text


@pytest.mark.parametrize(
    "text", ["0123456789abcdef" * 4, "job-1042 on lab-a", "a_very_long_name_of_a_function_that_has_43_signs"]
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text, []) == text


def test_a_setting_is_shown_only_if_it_is_known_to_be_public() -> None:
    settings = {"GROUNDCREW_SECRET_KEY": "abc", "GROUNDCREW_PORT": "8470", "GROUNDCREW_FUTURE": "1"}
    assert redact_settings(settings) == {
        "GROUNDCREW_FUTURE": REDACTED,
        "GROUNDCREW_PORT": "8470",
        "GROUNDCREW_SECRET_KEY": REDACTED,
    }

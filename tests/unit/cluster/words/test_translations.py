"""Translations are read from the catalogues of a language."""

from typing import Any

from cluster.words.translations import Translations, load_translations


def test_one_english_may_need_two_translations() -> None:
    catalogue = Translations(
        {(None, "Open"): ("열기",), ("state", "Open"): ("열림",), (None, "%d jobs"): ("%d건",)}
    )
    assert catalogue.gettext("Open") == "열기"
    assert catalogue.pgettext("state", "Open") == "열림"
    assert catalogue.pgettext("other", "Open") == "열기"
    assert catalogue.gettext("Close") == "Close"
    assert catalogue.ngettext("%d jobs", "%d jobs", 1) == "%d건"
    assert [catalogue.ngettext("one", "many", n) for n in (0, 1, 2)] == ["many", "one", "many"]


def test_a_language_without_files_is_empty(tmp_path: Any) -> None:
    assert load_translations(tmp_path, "ko") == Translations({})

"""Translations are read from the catalogues of a language."""

from pathlib import Path

from cluster.words.translations import load_translations, read_messages

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def write_catalogue(folder: Path, name: str, entries: str) -> None:
    (folder / "ko").mkdir(exist_ok=True)
    (folder / "ko" / name).write_text(HEADER + entries, encoding="utf-8")


def test_the_files_of_a_language_are_one_catalogue(tmp_path: Path) -> None:
    write_catalogue(tmp_path, "a.po", 'msgid "Open"\nmsgstr "열기"\n')
    write_catalogue(tmp_path, "b.po", 'msgid "%d job"\nmsgid_plural "%d jobs"\nmsgstr[0] "%d건"\n')
    korean = load_translations(tmp_path, "ko")
    assert korean.gettext("Open") == "열기"
    assert [korean.ngettext("%d job", "%d jobs", number) for number in (0, 1, 2)] == ["%d건"] * 3


def test_what_is_not_translated_comes_back_in_english(tmp_path: Path) -> None:
    write_catalogue(tmp_path, "a.po", 'msgid "Open"\nmsgstr ""\n\n#, fuzzy\nmsgid "Close"\nmsgstr "열기"\n')
    korean = load_translations(tmp_path, "ko")
    assert (korean.gettext("Open"), korean.gettext("Close"), korean.gettext("Quit")) == (
        "Open",
        "Close",
        "Quit",
    )
    assert list(read_messages(tmp_path, "ko")) == []


def test_a_language_without_files_is_english(tmp_path: Path) -> None:
    english = load_translations(tmp_path, "en")
    assert english.gettext("Open") == "Open"
    assert [english.ngettext("one", "many", number) for number in (0, 1, 2)] == ["many", "one", "many"]

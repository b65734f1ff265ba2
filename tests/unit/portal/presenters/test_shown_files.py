"""The way through folders; their pictures; CSV files as tables, and whatever is none stays text."""

from datetime import UTC, datetime

import pytest

from portal.job_files.written_files import FolderListing, WrittenFile
from portal.presenters.shown_files import (
    LARGEST_PICTURE_BYTES,
    MOST_CELL_CHARACTERS,
    MOST_ROWS,
    ShownFiles,
    parse_table,
)

WRITTEN = datetime(2026, 11, 20, tzinfo=UTC)


def test_each_folder_on_the_way_leads_to_itself() -> None:
    tab = ShownFiles(("results", "fold-1", "a.csv"))
    assert tab.parents == [("results", "results"), ("fold-1", "results/fold-1")]
    assert ShownFiles(("results",)).below("fold-1") == "results/fold-1"
    assert ShownFiles(()).below("results") == "results" and ShownFiles(()).parents == []


def test_small_images_are_shown_together() -> None:
    sizes = {
        "a.png": 1,
        "b.txt": 1,
        "c.JPG": LARGEST_PICTURE_BYTES,
        "d.png": LARGEST_PICTURE_BYTES + 1,
        "e.png": 0,
    }
    entries = [WrittenFile(name, False, size, WRITTEN) for name, size in sizes.items()]
    entries.append(WrittenFile("f.png", True, None, WRITTEN))
    assert ShownFiles((), FolderListing(tuple(entries), False)).pictures == ["a.png", "c.JPG"]


def test_the_first_line_is_the_head_and_numbers_are_known() -> None:
    table = parse_table("scores.csv", '\ufeffclass,f1,note\ncat,0.91,"a, b"\ndog,-8e-1\n\n', is_whole=True)
    assert table is not None and table.is_whole
    assert table.head == ("class", "f1", "note")
    assert table.rows == (("cat", "0.91", "a, b"), ("dog", "-8e-1", ""))
    assert table.has_numbers == (False, True, False)


def test_a_cut_file_ends_with_its_last_whole_line() -> None:
    table = parse_table("a.TSV", "x\ty\n1\t2\n3\t4", is_whole=False)
    assert table is not None and table.rows == (("1", "2"),) and not table.is_whole


def test_a_long_file_and_a_long_cell_are_cut() -> None:
    table = parse_table("a.csv", "x,y\n" + f"{'z' * 500},1\n" * (MOST_ROWS + 5), is_whole=True)
    assert table is not None and len(table.rows) == MOST_ROWS and not table.is_whole
    assert table.rows[0][0] == "z" * MOST_CELL_CHARACTERS + "…"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "x,y\n1,2\n"),
        ("a.csv", "no table\nbut words\n"),
        ("a.csv", "x,y\n"),
        ("a.csv", ""),
        ("a.csv", ",".join("abc" * 20) + "\n" + ",".join("123" * 20)),
    ],
)
def test_what_is_no_table_stays_text(name: str, text: str) -> None:
    assert parse_table(name, text, is_whole=True) is None

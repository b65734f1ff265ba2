"""The reason for a broken backup is kept as a code with data, so that each reader has it in their own language."""

from typing import Any

import pytest

from cluster import words

ROWS = {"code": "broken.other_rows", "data": {"table": "jobs", "found": 1, "expected": 2}}


@pytest.mark.parametrize(
    ("problem", "english", "korean"),
    [
        (
            ROWS,
            "jobs has 1 row, its manifest says 2.",
            "jobs에 1행 있는데 목록 파일에는 2행으로 적혀 있습니다.",
        ),
        ("its SHA-256 differs", "its SHA-256 differs", "이전 버전의 기록: its SHA-256 differs"),
    ],
    ids=["today's", "of an older version"],
)
def test_the_reason_stands_in_the_sentence_of_whoever_speaks_of_it(
    problem: Any, english: str, korean: str
) -> None:
    for code, name in (("backup.broken", "problem"), ("backup.not_copied", "said")):
        data = {"name": "b", "place": "nas", name: problem}
        assert words.sentence(code, data).endswith(f": {english}")
        assert words.sentence(code, data, "ko").endswith(f". {korean}")

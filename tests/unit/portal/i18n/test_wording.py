"""Wordings that readers did not understand have not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
BETTER = {
    "Behind their own": "Waiting behind own workspace",
    "whatever is silent is normal": "Anything not listed is fine",
    "The secret stands in the terminal": "The secret was printed in the terminal",
    "This secret does not fit": "Wrong secret",
    "One thing to put right": "Fix one problem",
    "First put this right:": "Fix first:",
    "Names, apart by commas or blanks": "Names separated by commas or spaces",
    "on a way that only they read": "through a private channel",
    "is counted by class": "images are counted per class",
    "files go for good": "Deletes … files permanently",
    "leads out of the archive": "points outside the archive",
    "Not yet": "Can't submit yet",
    "Further tries": "Retries",
    "Grace": "Grace period",
    "At once": "Run at most",
    "every value with every other": "all combinations",
    "so many of these jobs run at the same time": "maximum running at once",
    "A parameter a line": "One parameter per line",
    "As it will be called": "Command line",
    "is no full path": "Enter a full path under …",
    "Its way through the queue": "Queue history",
    "Run sheet": "Run details",
    "Its stderr": "Show stderr",
    "The file as it is: raw": "Raw file",
    "Ended well": "Completed",
    "capital and small letters are alike": "case-insensitive",
    "Going on later": "Resume later",
    "only values that differ": "differing values only",
    "To run it": "Run",
    "is believed only when a check": "counts as done only after a check passes",
    "an error that nobody foresaw": "Unexpected error",
    "In line": "Queued",
    "Nothing that the job itself could change": "Nothing can be changed on the job",
    "To put one back": "To restore",
    "Next night": "Next backup",
    "What this person is": "Role",
    "Present password": "Current password",
    "데이터셋 들이기": "데이터셋 가져오기",
    "줄에 섬": "대기 중",
    "일하는 중": "사용 중",
    "작업 일꾼": "작업 처리 프로세스",
    "성공으로 칩니다": "성공으로 봅니다",
    "아직 아님": "고칠 항목이 있습니다",
    "모든 값의 모든 짝": "모든 조합",
    "한 번에 하나만 달립니다": "한 번에 하나만 실행됩니다",
    "되살리": "복원하다",
    "대기열에서 지나온 길": "대기 이력",
}
WHOLE_MESSAGES = frozenset(
    ("Not yet", "Grace", "At once", "In line", "To run it", "Ended well", "Its stderr")
)
"""Good words within other sentences."""


def messages() -> list[str]:
    """English and Korean: every text of the portal and of `cluster.words` stands in a catalogue."""
    files = [*ROOT.glob("portal/translations/ko/*.po"), *ROOT.glob("cluster/words/ko/*.po")]
    return [text for file in files for text in re.findall(r'^msg(?:id|str) "(.*)"$', file.read_text(), re.M)]


@pytest.mark.parametrize("earlier", sorted(BETTER))
def test_no_page_has_the_earlier_wording(earlier: str) -> None:
    whole = earlier in WHOLE_MESSAGES
    assert [text for text in messages() if (text == earlier if whole else earlier in text)] == []

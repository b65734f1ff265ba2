"""The sentence about a refused name says which character is wrong, and which name would do."""

import pytest

from cluster import words
from cluster.domain.errors import Refused
from cluster.domain.names import check_file_name, check_user_name


@pytest.mark.parametrize(
    ("name", "english", "korean"),
    [
        (
            "Kim",
            "“K” (U+004B) at position 1 is not allowed here. You could use “kim”.",
            "1번째 글자 “K” (U+004B): 여기에 쓸 수 없는 문자입니다. 대신 쓸 수 있는 이름: “kim”.",
        ),
        (
            "ab\u200bc",
            "The invisible character U+200B (zero width space) at position 3 is not allowed here. "
            "You could use “abc”.",
            "3번째 글자 보이지 않는 문자 U+200B: 여기에 쓸 수 없는 문자입니다. 대신 쓸 수 있는 이름: “abc”.",
        ),
        (
            "kim min",
            "A space at position 4 is not allowed here. You could use “kim-min”.",
            "4번째 글자 빈칸: 여기에 쓸 수 없는 문자입니다. 대신 쓸 수 있는 이름: “kim-min”.",
        ),
        (
            "가",
            "“가” (U+AC00) at position 1 is not allowed here.",
            "1번째 글자 “가” (U+AC00): 여기에 쓸 수 없는 문자입니다.",
        ),
        ("ab", "Too short with 2 characters: use at least 3.", "2자는 짧습니다. 3자 이상 쓰세요."),
    ],
)
def test_a_refused_name_says_which_character_and_what_instead(name: str, english: str, korean: str) -> None:
    with pytest.raises(Refused) as refused:
        check_user_name(name)
    assert words.sentence(refused.value.code, refused.value.data, "en") == english
    assert words.sentence(refused.value.code, refused.value.data, "ko") == korean


def test_a_refused_file_name_offers_the_repaired_one() -> None:
    with pytest.raises(Refused) as refused:
        check_file_name("강아지.png")
    assert "You could use “gangaji.png”." in words.sentence(refused.value.code, refused.value.data)
    assert "“gangaji.png”" in words.sentence(refused.value.code, refused.value.data, "ko")

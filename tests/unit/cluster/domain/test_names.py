"""Refused names say which character is wrong and which name would do."""

from collections.abc import Callable

import pytest

from cluster.domain import names
from cluster.domain.errors import Refused


def refusal(check: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        check()
    return caught.value


@pytest.mark.parametrize("name", ["abc", "kim", "a-b-c", "0ab", "x" * 20, "kim-min-su-2"])
def test_good_names_come_back_as_they_are(name: str) -> None:
    assert names.check_user_name(name) == name
    assert names.check_workspace_name(name) == name
    assert names.check_training_name(name) == name
    assert names.check_dataset_name(name) == name
    assert names.check_token_name(name) == name
    assert names.check_key_name(name) == name
    assert names.check_job_name(name) == name


@pytest.mark.parametrize(
    ("name", "code", "data"),
    [
        ("", "name.missing", {"least": 3, "most": 20}),
        ("ab", "name.too_short", {"least": 3, "length": 2}),
        ("x" * 21, "name.too_long", {"most": 20, "length": 21}),
        ("-abc", "name.hyphen_first", {"repaired": "abc"}),
        ("abc-", "name.hyphen_last", {"repaired": "abc"}),
        ("a--bc", "name.hyphen_doubled", {"repaired": "a-bc"}),
        ("Kim", "name.bad_character", {"character": "K", "position": 1, "repaired": "kim"}),
        ("kim_min", "name.bad_character", {"character": "_", "position": 4, "repaired": "kim-min"}),
        ("kim min", "name.bad_character", {"character": "", "codepoint": "U+0020", "position": 4}),
        ("김민수", "name.bad_character", {"character": "김", "codepoint": "U+AE40", "repaired": "gimminsu"}),
        ("김", "name.bad_character", {"repaired": "gim"}),
        ("가", "name.bad_character", {"repaired": ""}),
        ("аbc", "name.bad_character", {"codepoint": "U+0430", "called": "cyrillic small letter a"}),
        ("ａｂｃ", "name.bad_character", {"codepoint": "U+FF41", "repaired": "abc"}),
        ("ab\u200bc", "name.bad_character", {"character": "", "codepoint": "U+200B", "repaired": "abc"}),
        ("abc\n", "name.bad_character", {"character": "", "codepoint": "U+000A", "repaired": "abc"}),
        ("ab\0c", "name.bad_character", {"codepoint": "U+0000", "called": "control character"}),
        ("café", "name.bad_character", {"character": "é", "repaired": "cafe"}),
        ("cafe\u0301", "name.bad_character", {"character": "", "codepoint": "U+0301"}),
        ("ab²", "name.bad_character", {"repaired": "ab2"}),
        ("../etc", "name.bad_character", {"character": "."}),
    ],
)
def test_a_bad_name_is_refused_with_the_reason(name: str, code: str, data: dict[str, object]) -> None:
    for check in (names.check_user_name, names.check_workspace_name):
        refused = refusal(lambda check=check: check(name, "manager"))  # type: ignore[misc]
        assert (refused.code, refused.field) == (code, "manager")
        assert data.items() <= refused.data.items()


@pytest.mark.parametrize("name", ["root", "groundcrew", "system"])
def test_names_of_the_system_are_no_user_names(name: str) -> None:
    assert refusal(lambda: names.check_user_name(name)).code == "name.reserved"
    assert names.check_workspace_name(name) == name


def test_what_is_offered_instead_is_itself_allowed() -> None:
    for wrong in ("Kim Min Su", "-a--b-", "X" * 40, "학습-데이터 v2", "a.b.c"):
        offered = refusal(lambda wrong=wrong: names.check_user_name(wrong)).data["repaired"]  # type: ignore[misc]
        assert names.check_user_name(offered) == offered


def test_jobs_and_datasets_may_have_longer_names() -> None:
    assert names.check_job_name("lenet-learning_rate=0.01") == "lenet-learning_rate=0.01"
    assert names.check_job_name("j" * 60) == "j" * 60
    assert refusal(lambda: names.check_job_name("j" * 61)).data["most"] == 60
    assert names.check_dataset_name("d" * 50) == "d" * 50
    assert refusal(lambda: names.check_dataset_name("a=b")).code == "name.bad_character"


@pytest.mark.parametrize(
    "name", ["a.txt", "train.py", ".hidden", "a-b_c(1)[2]{3}.tar.gz", "&%$#@!,;'`~^+=", "x" * 255, "..."]
)
def test_good_file_names_come_back_as_they_are(name: str) -> None:
    assert names.check_file_name(name) == name
    assert names.check_file_name(name, unicode_names=True) == name


@pytest.mark.parametrize(
    ("name", "code", "repaired"),
    [
        ("a b.png", "file.space", "a_b.png"),
        ("a*b", "file.bad_character", "a_b"),
        ("what?.txt", "file.bad_character", "what_.txt"),
        ("a:b", "file.bad_character", "a_b"),
        ("a<b>", "file.bad_character", "a_b_"),
        ('a"b', "file.bad_character", "a_b"),
        ("a|b", "file.bad_character", "a_b"),
        ("a\\b", "file.bad_character", "a_b"),
        ("a/b", "file.bad_character", "a_b"),
        ("x₩.csv", "file.bad_character", "x_.csv"),
        ("x￦.csv", "file.bad_character", "x_.csv"),
        ("강아지.png", "file.hangul", "gangaji.png"),
        ("ㄱ.png", "file.hangul", "_.png"),
        ("한글.png", "file.hangul", "hangeul.png"),
        ("café.jpg", "file.not_ascii", "cafe.jpg"),
        ("日本.jpg", "file.not_ascii", "__.jpg"),
        ("a\nb", "file.unseen_character", "a_b"),
        ("a\0b", "file.unseen_character", "a_b"),
        ("a\u202eb", "file.unseen_character", "ab"),
        ("a\u3000b", "file.unseen_character", "a_b"),
        ("a\udcffb", "file.unseen_character", "a_b"),
    ],
)
def test_a_bad_file_name_is_refused_with_the_repaired_one(name: str, code: str, repaired: str) -> None:
    refused = refusal(lambda: names.check_file_name(name))
    assert (refused.code, refused.data["repaired"], refused.field) == (code, repaired, "file")
    assert names.check_file_name(repaired) == repaired
    refused.data["file"].encode()  # What is shown can be printed.


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_that_are_none(name: str) -> None:
    assert refusal(lambda: names.check_file_name(name)).code == "file.no_name"


@pytest.mark.parametrize("name", ["강아지.png", "café.jpg", "日本.jpg"])
def test_unicode_file_names_are_a_setting(name: str) -> None:
    assert names.check_file_name(name, unicode_names=True) == name


@pytest.mark.parametrize("name", ["a b", "x₩", "a\u200bb", "a\x7fb", "a?", "\ue000"])
def test_the_setting_lets_nothing_else_pass(name: str) -> None:
    refused = refusal(lambda: names.check_file_name(name, unicode_names=True))
    assert names.check_file_name(refused.data["repaired"], unicode_names=True)


def test_a_file_name_is_measured_in_bytes() -> None:
    assert refusal(lambda: names.check_file_name("x" * 256)).data["bytes"] == 256
    assert refusal(lambda: names.check_file_name("가" * 86, unicode_names=True)).data["bytes"] == 258
    assert len(refusal(lambda: names.check_file_name("x" * 300)).data["file"]) <= 120
    assert len(names.suggest_file_name("가" * 200, unicode_names=True).encode()) <= 255


def test_a_name_of_which_nothing_is_left_becomes_file() -> None:
    assert names.suggest_file_name("???") == "file"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/passwd", "file.absolute"),
        ("a/../b", "file.no_name"),
        ("a//b", "file.no_name"),
        ("a/b c", "file.space"),
        ("a/" * 2001 + "b", "file.path_too_long"),
    ],
)
def test_a_path_is_refused_by_its_worst_part(path: str, code: str) -> None:
    assert refusal(lambda: names.check_file_path(path)).code == code


def test_a_path_of_good_names_passes() -> None:
    assert names.check_file_path("train/0/img-1.png") == "train/0/img-1.png"


@pytest.mark.parametrize(
    ("text", "kept"),
    [("  a ", "a"), ("", ""), ("한 줄\r\n두 줄", "한 줄\n두 줄"), ("a\tb", "a\tb"), ("<b>", "<b>")],
)
def test_free_text_is_stripped_and_kept(text: str, kept: str) -> None:
    assert names.check_text(text, "description", 20) == kept


@pytest.mark.parametrize(
    ("text", "code"),
    [("x" * 21, "text.too_long"), ("a\0b", "text.bad_character"), ("\x1b[31m", "text.bad_character")],
)
def test_free_text_has_limits(text: str, code: str) -> None:
    refused = refusal(lambda: names.check_text(text, "description", 20))
    assert (refused.code, refused.field) == (code, "description")

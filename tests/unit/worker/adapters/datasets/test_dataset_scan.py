"""A dataset's folder is counted without following links, and its classes are found by their images."""

from pathlib import Path

import pytest
from PIL import Image

from worker.adapters.datasets.dataset_scan import (
    DatasetContents,
    count_images,
    find_classes,
    inside_single_folder,
    is_image,
    is_image_name,
    scan_dataset,
    subfolders,
    walk_files,
)


def images(folder: Path, count: int = 2) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("L", (2, 2)).save(folder / f"{number}.png")
    return folder


@pytest.mark.parametrize(
    ("folders", "classes"),
    [
        (("cat", "dog"), [("cat", 2), ("dog", 2)]),
        (("data/cat", "data/dog"), [("cat", 2), ("dog", 2)]),
        (("train/cat", "train/dog", "val/cat"), [("cat", 4), ("dog", 2)]),
        (("train/cat", "validation/dog", "test/bird"), [("cat", 2), ("dog", 2)]),
        (("train/cat", "train/dog"), [("cat", 2), ("dog", 2)]),
        (("cat",), None),
        (("cat", ".hidden"), None),
        ((), None),
    ],
)
def test_classes_are_found_in_each_layout(
    tmp_path: Path, folders: tuple[str, ...], classes: list[tuple[str, int]] | None
) -> None:
    for name in folders:
        images(tmp_path / name)
    assert find_classes(tmp_path) == classes


def test_files_and_bytes_are_counted_without_links(tmp_path: Path) -> None:
    (tmp_path / "data" / "below").mkdir(parents=True)
    (tmp_path / "data" / "one").write_bytes(b"12345")
    (tmp_path / "data" / "below" / "two").write_bytes(b"123")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "three").write_bytes(b"1")
    (tmp_path / "data" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "file-link").symlink_to(tmp_path / "elsewhere" / "three")
    assert sorted(entry.name for entry in walk_files(tmp_path / "data")) == ["one", "two"]
    assert scan_dataset(tmp_path / "data") == DatasetContents(2, 8, None)
    with pytest.raises(OSError, match="missing"):
        scan_dataset(tmp_path / "missing")


def test_progress_is_told_every_thousand_files(tmp_path: Path) -> None:
    for number in range(2001):
        (tmp_path / str(number)).touch()
    told: list[int] = []
    assert scan_dataset(tmp_path, told.append).files == 2001
    assert told == [1000, 2000]


def test_folders_are_entered_while_there_is_one_without_images(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    images(inner / "cat")
    images(inner / "dog")
    assert inside_single_folder(tmp_path) == inner
    assert inside_single_folder(images(tmp_path / "alone" / "cat").parent) == tmp_path / "alone"
    assert subfolders(inner) == [inner / "cat", inner / "dog"]


def test_a_class_has_an_image_that_can_be_opened(tmp_path: Path) -> None:
    images(tmp_path / "good", 3)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "0.png").write_text("no image")
    assert count_images(tmp_path) == [("good", 3)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.png", True), ("A.JPEG", True), (".a.png", False), ("a.txt", False), ("png", False)],
)
def test_images_are_known_by_their_ending(name: str, expected: bool) -> None:
    assert is_image_name(name) is expected


def test_an_image_is_a_regular_file_of_a_known_format(tmp_path: Path) -> None:
    image = images(tmp_path / "cat", 1) / "0.png"
    link, text = tmp_path / "link.png", tmp_path / "text.png"
    link.symlink_to(image)
    text.write_text("P9 no such format")
    assert [is_image(str(path)) for path in (image, link, text, tmp_path / "missing.png")] == [
        True,
        False,
        False,
        False,
    ]

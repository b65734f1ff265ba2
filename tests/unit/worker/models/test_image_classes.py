"""Folders are classes, and images are split for validation before any of them is read."""

from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from worker.models.image_classes import LabelledImage, NoImages, list_class_images, split_examples


def write(folder: Path, *names: str, mode: str = "L") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, (4, 4)).save(folder / name)
    return folder


def ten(ending: str = "png") -> list[str]:
    return [f"{number}.{ending}" for number in range(10)]


def names(examples: tuple[LabelledImage, ...]) -> set[str]:
    return {f"{example.path.parent.name}/{example.path.name}" for example in examples}


def test_each_folder_is_a_class_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("dog", "cat", "10", "9"):
        write(tmp_path / name, *ten())
    listing = list_class_images(tmp_path)
    assert listing.classes == ("10", "9", "cat", "dog")
    assert {example.path.parent.name for example in listing.training if example.label == 2} == {"cat"}


def test_the_split_is_stratified_and_leaves_nothing_out(tmp_path: Path) -> None:
    for name, count in (("few", 5), ("many", 50)):
        write(tmp_path / name, *[f"{number}.png" for number in range(count)])
    listing = list_class_images(tmp_path)
    assert Counter(example.label for example in listing.validation) == {0: 1, 1: 10}
    assert not names(listing.training) & names(listing.validation)
    assert len(names(listing.training) | names(listing.validation)) == 55


def test_the_split_is_always_the_same(tmp_path: Path) -> None:
    for place in ("here", "there"):
        for name in ("a", "b"):
            write(tmp_path / place / name, *ten())
    here, there = list_class_images(tmp_path / "here"), list_class_images(tmp_path / "there")
    assert (
        names(here.validation)
        == names(there.validation)
        == names(list_class_images(tmp_path / "here").validation)
    )


def test_a_class_of_one_image_is_for_training() -> None:
    training, validation = split_examples([LabelledImage(Path("a"), 0)])
    assert (len(training), len(validation)) == (1, 0)


def test_a_single_folder_around_the_classes_is_looked_through(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "archive" / "inner" / name, *ten())
    (tmp_path / "README.txt").write_text("about")
    assert list_class_images(tmp_path).classes == ("a", "b")


@pytest.mark.parametrize("other", ["validation", "val", "test"])
def test_the_users_own_split_is_kept(tmp_path: Path, other: str) -> None:
    for name in ("a", "b"):
        write(tmp_path / "train" / name, "t1.png", "t2.png", "t3.png")
        write(tmp_path / other / name, "v1.png")
    write(tmp_path / other / "unknown", "v1.png")
    listing = list_class_images(tmp_path)
    assert names(listing.validation) == {"a/v1.png", "b/v1.png"}
    assert len(listing.training) == 6


def test_what_is_no_image_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, *ten("JPG"), "deeper/one.jpeg")
        (tmp_path / name / "labels.csv").write_text("x")
        write(tmp_path / name, ".hidden.png")
    write(tmp_path / ".cache", *ten())
    (tmp_path / "empty").mkdir()
    listing = list_class_images(tmp_path)
    assert listing.classes == ("a", "b")
    assert len(listing.training) + len(listing.validation) == 22


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("1", 1), ("I;16", 1), ("RGB", 3), ("P", 3)])
def test_grey_stays_grey_only_where_all_are(tmp_path: Path, mode: str, channels: int) -> None:
    write(tmp_path / "a", *ten())
    write(tmp_path / "b", *ten(), mode=mode)
    assert list_class_images(tmp_path).channels == channels


def test_a_broken_image_does_not_decide_the_colour(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, *ten())
    for path in (tmp_path / "a").iterdir():
        path.write_bytes(b"no image")
    assert list_class_images(tmp_path).channels == 1


@pytest.mark.parametrize("folders", [[], ["a"], ["a/b/c"]])
def test_without_two_classes_it_says_what_it_needs(tmp_path: Path, folders: list[str]) -> None:
    for name in folders:
        write(tmp_path / name, *ten())
    with pytest.raises(NoImages, match="at least two folders, one per class"):
        list_class_images(tmp_path)

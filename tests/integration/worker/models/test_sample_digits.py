"""The sample digits are a folder for each class, with one enlarged image per digit."""

from pathlib import Path

from PIL import Image

from tests.integration.worker.models.conftest import RunModels

WRITES = """
import sys
from pathlib import Path
from groundcrew_models.sample_digits import write_digit_images
write_digit_images(Path(sys.argv[1]))
"""


def test_each_digit_is_an_image_in_the_folder_of_its_class(run_models: RunModels, tmp_path: Path) -> None:
    counts = [int(line) for line in run_models(WRITES, tmp_path).split()]
    assert counts == [*range(100, 1800, 100), 1797]
    assert sorted(each.name for each in tmp_path.iterdir()) == [*map(str, range(10)), "README.txt"]
    images = sorted(tmp_path.glob("*/*.png"))
    assert len(images) == 1797
    with Image.open(images[0]) as image:
        assert (image.size, image.mode) == ((32, 32), "L")
        pixels = image.load()
        assert pixels is not None
        assert len({pixels[x, y] for x in range(4) for y in range(4)}) == 1, "each pixel is a square"
        assert image.getextrema() == (0, 239)

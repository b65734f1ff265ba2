"""Images of any mode and size become arrays of the model's size; files that are no image are named."""

import json
from pathlib import Path

from PIL import Image

from tests.integration.worker.models.conftest import RunModels

READS = """
import json, sys
from pathlib import Path
from groundcrew_models.image_classes import LabelledImage
from groundcrew_models.image_loading import read_images
examples = [LabelledImage(Path(name), label) for label, name in enumerate(sys.argv[2:])]
pixels, labels, broken = read_images(examples, 4, int(sys.argv[1]))
names = [path.name for path in broken]
print(json.dumps([pixels.shape, str(pixels.dtype), pixels[:, 0, 0].tolist(), labels.tolist(), names]))
"""


def test_images_are_scaled_and_converted_and_the_rest_is_named(run_models: RunModels, tmp_path: Path) -> None:
    Image.new("L", (4, 4), 7).save(tmp_path / "grey.png")
    Image.new("RGB", (8, 2), (9, 9, 9)).save(tmp_path / "colour.png")
    Image.new("I;16", (4, 4), 0x1234).save(tmp_path / "deep.png")
    (tmp_path / "broken.png").write_text("no image")
    paths = [tmp_path / f"{name}.png" for name in ("grey", "broken", "colour", "deep")]
    for channels in (1, 3):
        shape, kind, corners, labels, broken = json.loads(run_models(READS, channels, *paths))
        assert (shape, kind, labels, broken) == ([3, 4, 4, channels], "uint8", [0, 2, 3], ["broken.png"])
        assert corners == [[7] * channels, [9] * channels, [0x12] * channels]

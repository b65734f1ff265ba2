"""Writes scikit-learn's 1797 handwritten digits as a dataset: one folder per class, one PNG per digit.

The training environment's interpreter runs it, because that has scikit-learn. It prints the number of finished images
on each line. The original is 8x8 with 17 shades of grey: each pixel becomes a square of 4x4, without smoothing, so
that a person can look at it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

ENLARGED = 4
BRIGHTEST = 16

ABOUT = """\
1797 handwritten digits, a folder for each of 0 to 9, 32x32 pixels, grey.

Source: the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998), UCI
Machine Learning Repository, licence CC BY 4.0, as shipped with scikit-learn (sklearn.datasets.load_digits).
The original is 8x8 pixels with values 0 to 16: here 0 to 255, each pixel repeated 4x4.
"""


def write_digit_images(folder: Path) -> None:
    digits = load_digits()
    for number, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        shades = np.rint(image * 255 / BRIGHTEST).astype(np.uint8)
        pixels = np.kron(shades, np.ones((ENLARGED, ENLARGED), np.uint8))
        path = folder / str(label) / f"digit-{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        if (number + 1) % 100 == 0:
            print(number + 1, flush=True)
    (folder / "README.txt").write_text(ABOUT, encoding="utf-8")
    print(len(digits.images), flush=True)


if __name__ == "__main__":
    write_digit_images(Path(sys.argv[1]))

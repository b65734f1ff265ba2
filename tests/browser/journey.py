"""One installation and the people who use it, as the journey's tests go through it in turn."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, StorageState, expect

from tests.installation import Installation, an_installation

OWN_CODE = Path(__file__).parents[1] / "data" / "noisy_descent.py"
NOBODY = "nobody"
PASSWORD = "four calm birds on a wing"
SHAPES = ("bar", "cross", "ring")
IMAGES_PER_CLASS = 100


@dataclass
class Journey:
    """What the steps so far have made. A test that needs a step that failed says which."""

    installation: Installation
    secret: str
    made: dict[str, int | str] = field(default_factory=dict)
    states: dict[str, StorageState] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.installation.port}"

    def path(self, template: str) -> str:
        """`/jobs/{lenet}` with the ids of what was made; skips where the step that makes one has failed."""
        missing = [name for name in re.findall(r"\{(\w+)\}", template) if name not in self.made]
        if missing:
            pytest.skip(f"an earlier step has not made: {', '.join(missing)}")
        return template.format(**self.made)

    def state(self, name: str) -> StorageState | None:
        """Somebody's cookies; nobody has none."""
        if name != NOBODY and name not in self.states:
            pytest.skip(f"{name} could not sign in")
        return self.states.get(name)

    def keep(self, name: str, page: Page) -> None:
        """Remembers the number at the end of the page's address."""
        found = re.search(r"/(\d+)(\?|$)", page.url)
        assert found, page.url
        self.made[name] = int(found[1])


@contextmanager
def begin_journey() -> Iterator[Journey]:
    """A new installation and the secret of its first administrator."""
    with an_installation() as installation:
        output = installation.up()
        secret = re.search(r"One-time secret: +(\S+)", output)
        assert secret, output
        yield Journey(installation, secret[1])


def fill(page: Page, values: dict[str, str]) -> None:
    """Fields by the names under which they are sent; that each has a label is axe's business."""
    for name, value in values.items():
        box = page.locator(f"main [name='{name}']")
        if box.evaluate("element => element.tagName") == "SELECT":
            box.select_option(value)
        else:
            box.fill(value)


def type_secret(page: Page, secret: str, name: str) -> None:
    page.goto("/first-administrator")
    fill(page, {"secret": secret, "name": name, "password": PASSWORD})
    page.get_by_role("button", name="Make this account").click()


def sign_in(page: Page, name: str) -> None:
    page.goto("/sign-in")
    fill(page, {"name": name, "password": PASSWORD})
    page.get_by_role("button", name="Sign in").click()
    expect(page).not_to_have_url(re.compile("sign-in"))


def make_user(page: Page, name: str, full_name: str) -> str:
    """The one-time link that the page shows."""
    page.goto("/users/new")
    fill(page, {"name": name, "full_name": full_name})
    page.get_by_role("button", name="Make user and link").click()
    return page.locator("#secret-text").inner_text().strip()


def make_job(page: Page, training: int, values: dict[str, str]) -> None:
    page.goto(f"/trainings/{training}/jobs/new")
    fill(page, values)
    page.get_by_role("button", name="Make 1 job").click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))


def archive_of_shapes() -> bytes:
    """A zip of 28 × 28 images, a folder per class; every image is another one."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        for shape in SHAPES:
            for number in range(IMAGES_PER_CLASS):
                picture = io.BytesIO()
                draw_shape(shape, number).save(picture, "PNG")
                archive.writestr(f"shapes/{shape}/{number:03}.png", picture.getvalue())
    return kept.getvalue()


def draw_shape(shape: str, number: int) -> Image.Image:
    image = Image.new("L", (28, 28), 0)
    draw = ImageDraw.Draw(image)
    x, y, ink = 4 + number % 5, 4 + number // 5 % 5, 155 + number
    if shape == "bar":
        draw.rectangle((x + 6, y, x + 9, y + 16), fill=ink)
    elif shape == "cross":
        draw.line((x, y, x + 15, y + 15), fill=ink, width=3)
        draw.line((x, y + 15, x + 15, y), fill=ink, width=3)
    else:
        draw.ellipse((x, y, x + 15, y + 15), outline=ink, width=3)
    return image

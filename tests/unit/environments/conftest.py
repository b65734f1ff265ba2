import shutil
from collections.abc import Iterator

import pytest

from tests.unit.environments.stand_in import Site, make_site


@pytest.fixture
def site() -> Iterator[Site]:
    made = make_site()
    yield made
    shutil.rmtree(made.folder)

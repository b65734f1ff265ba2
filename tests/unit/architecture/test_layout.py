"""The layout of the code gets no worse: folders, names, imports, cycles, and where the test of a module lies.

Write a better figure down here once it is reached; ``python -m tests.structure.figures`` prints them all.
"""

import pytest

from tests.structure.figures import Figures, measure
from tests.structure.source import read_source

MOST_WITH_MANY_IMPORTS = 5.0
LEAST_WITH_A_TEST = 97.9


@pytest.fixture(scope="module")
def figures() -> Figures:
    return measure(read_source())


def test_no_folder_is_crowded(figures: Figures) -> None:
    assert figures.crowded == {}


def test_no_modules_import_each_other(figures: Figures) -> None:
    assert figures.cycles == []


def test_a_class_name_means_one_thing(figures: Figures) -> None:
    assert figures.class_names == {}


def test_a_function_that_is_imported_by_its_bare_name_means_one_thing(figures: Figures) -> None:
    assert figures.function_names == {}


def test_no_larger_share_of_modules_has_many_imports(figures: Figures) -> None:
    assert 100 * len(figures.many_imports) / figures.modules <= MOST_WITH_MANY_IMPORTS, figures.many_imports


def test_no_smaller_share_of_modules_has_a_test_at_its_path(figures: Figures) -> None:
    assert 100 * figures.tested / figures.testable >= LEAST_WITH_A_TEST, figures.untested


def test_no_function_is_longer_than_a_screen(figures: Figures) -> None:
    assert figures.long_functions == {}

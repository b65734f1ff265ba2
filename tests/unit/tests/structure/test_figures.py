"""Each figure is measured on a small tree that is made up for it."""

from pathlib import Path

import pytest

from tests.structure import figures
from tests.structure.source import Source


def tree(folder: Path, **files: str) -> Source:
    """A name like `cluster__jobs__queue` is a path without its suffix; one that begins with `tests` is a test."""
    for name, text in files.items():
        parts = name.replace("____main__", "__MAIN").replace("____init__", "__INIT").split("__")
        stem = {"MAIN": "__main__", "INIT": "__init__"}.get(parts[-1], parts[-1])
        file = folder.joinpath(*parts[:-1], f"{stem}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Source(folder)


WORK = "def run() -> int:\n    return 1\n"


def test_a_folder_is_crowded_beyond_twenty_modules_and_a_catalogue_never_is(tmp_path: Path) -> None:
    files = {f"cluster__jobs__m{number}": "" for number in range(21)}
    files |= {f"cluster__words__english__m{number}": "" for number in range(30)}
    files |= {f"worker__tasks__m{number}": "" for number in range(20)} | {"worker__tasks__main": ""}
    files |= {f"tests__unit__t{number}": "" for number in range(22)}
    source = tree(tmp_path, **files)
    (tmp_path / "worker" / "tasks" / "main.py").rename(tmp_path / "worker" / "tasks" / "__main__.py")
    assert figures.crowded_folders(Source(source.root)) == {"cluster/jobs": 21, "tests/unit": 22}


def test_a_class_name_counts_when_two_modules_define_it(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        cluster__one="class Run: ...\nclass _Own: ...\n",
        worker__two="class Run: ...\nclass _Own: ...\nclass Other: ...\n",
    )
    assert figures.repeated_classes(source) == {"Run": ["cluster/one.py", "worker/two.py"]}


def test_a_function_is_ambiguous_when_its_bare_name_comes_from_two_modules(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        cluster__one="def begin(): ...\ndef end(): ...\n",
        cluster__two="def begin(): ...\ndef end(): ...\n",
        worker__bare="from cluster.one import begin, end\n",
        worker__other="from cluster.two import begin\nfrom cluster import two\ntwo.end()\n",
    )
    assert figures.ambiguous_functions(source) == {"begin": ["cluster/one.py", "cluster/two.py"]}


def test_imports_inside_functions_and_those_of_a_re_export_count(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        cluster__a="",
        cluster__b="",
        cluster__c="",
        cluster__all="from cluster import a\nfrom cluster import b\nfrom cluster import c\n__all__ = ['a']\n",
        worker__user="import os\nfrom cluster.all import a\n\ndef run():\n    import sys\n",
    )
    counts = {module.path: figures.count_imports(source, module) for module in source.modules}
    assert counts["cluster/all.py"] == 3
    assert counts["worker/user.py"] == 5


def test_modules_that_import_each_other_are_one_cycle_also_inside_functions(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        cluster__a="from cluster import b\n",
        cluster__b="from cluster import c\n",
        cluster__c="def late():\n    from cluster import a\n",
        cluster__d="from cluster import a\n",
    )
    assert figures.find_cycles(source) == [["cluster.a", "cluster.b", "cluster.c"]]


@pytest.mark.parametrize(
    ("text", "is_something"),
    [
        (WORK, True),
        ('class Row:\n    """A row."""\n    name: str\n', False),
        ('class Port:\n    def read(self) -> str: ...\n    def stop(self):\n        """Stops."""\n', False),
        ("NAMES = {'a': 1}\n", False),
        ("def nothing():\n    pass\n", False),
    ],
)
def test_only_what_does_something_can_be_tested(tmp_path: Path, text: str, is_something: bool) -> None:
    (module,) = tree(tmp_path, cluster__one=text).modules
    assert figures.has_behaviour(module) is is_something


@pytest.mark.parametrize(
    ("path", "text", "is_its_test"),
    [
        ("tests__unit__cluster__jobs__test_job", "from cluster.jobs.job import run\n", True),
        ("tests__store__cluster__jobs__test_job", "from cluster.jobs import job\n", True),
        ("tests__unit__cluster__jobs__test_job_by_hand", "from cluster.jobs import job\n", True),
        ("tests__integration__cluster__jobs__test_job", "", True),
        ("tests__unit__cluster__jobs__test_job", "from cluster.jobs import job_page\n", False),
        ("tests__unit__cluster__jobs__test_job_page", "from cluster.jobs import job\n", False),
        ("tests__unit__cluster__jobs__test_jobs", "from cluster.jobs import job\n", False),
        ("tests__unit__cluster__test_job", "from cluster.jobs import job\n", False),
        ("tests__hosts__cluster__jobs__test_job", "from cluster.jobs import job\n", False),
    ],
)
def test_the_test_of_a_module_lies_at_its_path_and_imports_it(
    tmp_path: Path, path: str, text: str, is_its_test: bool
) -> None:
    source = tree(tmp_path, cluster__jobs__job=WORK, cluster__jobs__job_page=WORK, **{path: text})
    assert figures.has_test(source, source.by_name["cluster.jobs.job"]) is is_its_test


def test_pages_are_driven_by_their_address(tmp_path: Path) -> None:
    source = tree(tmp_path, portal__views__jobs=WORK, tests__pages__portal__views__test_jobs="")
    assert figures.has_test(source, source.by_name["portal.views.jobs"])


def test_a_program_and_a_package_have_tests_too(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        worker__images____main__=WORK,
        worker__images____init__=WORK,
        tests__unit__worker__images__test_main="",
        tests__unit__worker__images__test_images="from worker import images\n",
    )
    paths = [module.path for module in source.modules if figures.has_test(source, module)]
    assert paths == ["worker/images/__init__.py", "worker/images/__main__.py"]


def test_a_fragment_is_short_and_has_one_importer_beside_it(tmp_path: Path) -> None:
    source = tree(
        tmp_path,
        cluster__jobs__piece=WORK,
        cluster__jobs__shared=WORK,
        cluster__jobs__long=WORK + "\n" * 60,
        cluster__jobs__whole="from cluster.jobs import long, piece, shared\n",
        worker__user="from cluster.jobs import shared, whole\n",
    )
    assert figures.find_fragments(source) == ["cluster/jobs/piece.py"]


def test_the_short_form_names_no_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(tmp_path, cluster__one=WORK + "class Run: ...\n", worker__two="class Run: ...\n")
    figures.main([str(tmp_path), "--short"])
    short = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in short if line.startswith("class names")] == ["1"]
    assert not [line for line in short if line.startswith(" ")]
    figures.main([str(tmp_path)])
    assert "    Run: cluster/one.py, worker/two.py" in capsys.readouterr().out.splitlines()


def test_a_function_is_long_beyond_sixty_lines_wherever_it_stands(tmp_path: Path) -> None:
    body = "\n".join(f"        step({number})" for number in range(60))
    text = f"class Job:\n    def run(self) -> None:\n{body}\n\n    def end(self) -> None:\n        pass\n"
    shorter = text.replace("        step(0)\n", "")
    source = tree(tmp_path, cluster__long=text, cluster__short=shorter)
    assert figures.find_long_functions(source) == {"cluster/long.py:run": 61}

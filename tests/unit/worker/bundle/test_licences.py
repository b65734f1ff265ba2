"""Licences are recognised from the files that packages bring."""

from pathlib import Path

import pytest

from worker.bundle.licences import (
    UNKNOWN,
    join_licences,
    licence_of_copyright,
    licence_of_folder,
    licence_of_wheel_metadata,
    list_licence_files,
    recognise_licence,
)

BSD = "Redistribution and use in source and binary forms, with or without modification"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Apache License\n      Version 2.0, January 2004", "Apache-2.0"),
        ("Permission is hereby granted, free of charge, to any person\nobtaining a copy", "MIT"),
        (f"{BSD}\n Neither the name of Google Inc.", "BSD-3-Clause"),
        (BSD, "BSD-2-Clause"),
        ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
        ("All rights reserved.", UNKNOWN),
    ],
)
def test_a_text_is_recognised(text: str, licence: str) -> None:
    assert recognise_licence(text) == licence


def test_a_module_has_the_licences_of_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("Apache License Version 2.0")
    (tmp_path / "COPYING.txt").write_text("GNU General Public License")
    (tmp_path / "LICENSE-docs").write_text("All rights reserved.")
    (tmp_path / "main.go").write_text(
        "// Permission is hereby granted, free of charge, to any person obtaining"
    )
    (tmp_path / "licenses").mkdir()
    names = [file.name for file in list_licence_files(tmp_path)]
    assert names == ["COPYING.txt", "LICENSE", "LICENSE-docs"]
    assert licence_of_folder(tmp_path) == "Apache-2.0 AND GPL"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (
            "Format: https://x\nLicense: GPL-2+ and MIT\n\nLicense: LGPL-2.1+, or BSD-3-clause\n",
            "BSD-3-clause AND GPL-2+ AND LGPL-2.1+ AND MIT",
        ),
        ("This is free software: GNU General Public License.", "GPL"),
        ("Format: https://x\n", UNKNOWN),
    ],
)
def test_a_package_says_it_in_its_copyright(text: str, licence: str) -> None:
    assert licence_of_copyright(text) == licence


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: other\n", "MIT OR Apache-2.0"),
        (
            "Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: OSI Approved\n",
            "MIT License",
        ),
        ("License: BSD-3-Clause\n", "BSD-3-Clause"),
        ("License: UNKNOWN\n", UNKNOWN),
        ("Name: x\n", UNKNOWN),
        (f"License: {BSD}\n  and more lines\n", "BSD-2-Clause"),
    ],
)
def test_a_wheel_says_it_in_its_metadata(metadata: str, licence: str) -> None:
    assert licence_of_wheel_metadata(metadata) == licence


def test_several_licences_are_named_once_each() -> None:
    assert join_licences(["MIT", "BSD AND MIT"]) == "BSD AND MIT" and join_licences([]) == UNKNOWN

"""Folders of an attempt are made of ids alone."""

from portal.job_files.folders import control_path_parts, out_path_parts


def test_a_program_writes_into_out_and_the_shim_beside_it() -> None:
    assert out_path_parts(4, 12, 3) == ("workspaces", "4", "jobs", "12", "3", "out")
    assert control_path_parts(4, 12, 3) == ("workspaces", "4", "jobs", "12", "3", "control")

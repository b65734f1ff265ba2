"""What a server names is written below the folder that was asked for, and nowhere else."""

import pytest

from portal.cli.commands.remote_files import check_name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b"])
def test_a_server_does_not_choose_where_is_written(name: str) -> None:
    with pytest.raises(SystemExit):
        check_name(name)

"""Contents of files come in base64, and the refusal names the file that is not."""

import pytest

from cluster.domain.errors import Refused
from portal.api.code.code_files import decode_files


def test_contents_are_bytes() -> None:
    assert decode_files([{"path": "a.py", "content": "eCA9IDE="}]) == [("a.py", b"x = 1")]


@pytest.mark.parametrize("content", ["eCA9IDE", "eCA9IDE=!", "x = 1"])
def test_the_file_that_is_not_base64_is_named(content: str) -> None:
    with pytest.raises(Refused) as refusal:
        decode_files([{"path": "b.py", "content": content}])
    assert (refusal.value.code, refusal.value.data) == ("code.not_base64", {"file": "b.py"})

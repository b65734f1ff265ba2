"""A sealed credential opens with the same secret for the same purpose alone."""

import pytest

from cluster.credential_box import CredentialBox
from cluster.domain.errors import Unavailable


def test_what_is_sealed_is_opened() -> None:
    box = CredentialBox("secret")
    sealed = box.seal("토큰-1", "row 1")
    assert "토큰" not in sealed and sealed != box.seal("토큰-1", "row 1")
    assert CredentialBox("secret").open(sealed, "row 1") == "토큰-1"


@pytest.mark.parametrize(("secret", "purpose"), [("other", "row 1"), ("secret", "row 2")])
def test_another_secret_or_row_opens_nothing(secret: str, purpose: str) -> None:
    with pytest.raises(Unavailable):
        CredentialBox(secret).open(CredentialBox("secret").seal("a", "row 1"), purpose)


@pytest.mark.parametrize("sealed", ["", "AAAA", "no base64!", "A" * 64])
def test_damage_is_noticed(sealed: str) -> None:
    with pytest.raises(Unavailable):
        CredentialBox("secret").open(sealed, "row 1")

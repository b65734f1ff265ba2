"""Mail servers and webhooks that cannot be called are said without secrets; a signature fits what it came with."""

import pytest

from cluster.domain.errors import Unavailable
from worker.adapters.mail import send_mail, write_mail
from worker.adapters.webhook import call_webhook, sign_body


def test_nobody_behind_the_address_is_said_without_the_address() -> None:
    mail = write_mail("a@lab.example", "b@lab.example", "s", "t", "1@lab")
    with pytest.raises(Unavailable) as failed:
        send_mail("smtp://groundcrew:canary@127.0.0.1:9", mail)
    assert "ConnectionRefusedError" in failed.value.data["error"] and "canary" not in str(failed.value)
    with pytest.raises(Unavailable) as failed:
        call_webhook("http://127.0.0.1:9/canary", "s", 1, "0", {})
    assert "canary" not in str(failed.value)


@pytest.mark.parametrize("url", ["smtp://mail..lab.example", "smtp://" + "a" * 70])
def test_a_server_that_cannot_be_named_is_said(url: str) -> None:
    with pytest.raises(Unavailable):
        send_mail(url, write_mail("a@lab.example", "b@lab.example", "s", "t", "1@lab"))


def test_a_signature_is_of_this_body_at_this_time() -> None:
    assert sign_body("k", "1", b"{}") != sign_body("k", "2", b"{}") != sign_body("k", "2", b"{ }")
    with pytest.raises(ValueError):
        write_mail("a@lab.example", "b@lab.example\nBcc: c@lab.example", "s", "t", "1@lab")

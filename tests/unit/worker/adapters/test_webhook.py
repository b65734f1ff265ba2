"""Messages go to a webhook, whose address is shown to nobody."""

import pytest

from cluster.domain.errors import Unavailable
from worker.adapters.webhook import call_webhook


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/canary path", "http://127.0.0.1:9/canary\n"])
def test_an_address_that_cannot_be_called_is_not_shown(address: str) -> None:
    with pytest.raises(Unavailable) as failed:
        call_webhook(address, "s", 1, "0", {})
    assert "canary" not in str(failed.value.data)

"""A failed operation is explained and retried on its page."""

from tests.audit_entries import actions
from tests.pages.portal.filled_portal import House


def test_a_failed_operation_says_why_and_is_tried_again(house: House) -> None:
    browser = house.visitor("owner")
    page = browser.get("/operations/1").text
    assert "dropped each time" in page and "Try again" in page
    log = browser.get("/operations/1/log")
    assert "the disk is full" in page and log.text.startswith("first line")
    log.close()
    assert "Try again" not in house.visitor("member").get("/operations/1").text
    assert browser.post("/operations/1/retry").status_code == 303
    assert browser.post("/operations/1/retry").status_code == 409
    assert "operation.retried" in actions(house.cluster)

"""A number that no row can have is no address."""

from tests.pages.portal.rest_lab import Lab, lab

__all__ = ["lab"]


def test_a_number_that_no_row_can_have_is_no_address(lab: Lab) -> None:
    headers = lab.headers()
    for number in (0, 2**31, 10**30, "9" * 5000):
        assert lab.client.get(f"/api/v1/jobs/{number}", headers=headers).status_code == 404
        assert lab.client.delete(f"/api/v1/trainings/{number}", headers=headers).status_code == 404

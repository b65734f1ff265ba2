"""Wrong passwords make the next try wait."""

import pytest

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.services.people import credentials, known_browsers, sessions, sign_in_throttle
from cluster.services.people.password_slots import SlowLane
from cluster.store.users import FailedSignIn, User
from tests.audit_entries import actions
from tests.builders import a_user
from tests.conftest import Clock
from tests.simultaneous_calls import at_once

PASSWORD = "correct horse battery"


HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


def with_password(cluster: Cluster, name: str = "minji") -> User:
    return a_user(cluster, name, password_hash=credentials.hash_password(PASSWORD))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how many seconds tries were held back; none is."""
    waited: list[float] = []
    monkeypatch.setattr(sign_in_throttle, "SLOW_LANE", SlowLane(waited.append))
    return waited


def code_of(
    cluster: Cluster, name: str, password: str = "wrong", address: str = ELSEWHERE, browser_token: str = ""
) -> str:
    """What comes of it."""
    try:
        sessions.sign_in(cluster, name, password, address, "Firefox", browser_token=browser_token)
    except Refused as refusal:
        return refusal.code
    return "in"


@pytest.mark.usefixtures("quick_hashes")
class TestThrottling:
    @pytest.mark.parametrize("name", ["minji", "nobody-here"])
    def test_a_guesser_waits_and_the_lock_ends(self, cluster: Cluster, clock: Clock, name: str) -> None:
        with_password(cluster)
        codes = [code_of(cluster, name) for _ in range(8)]
        assert codes == ["sign_in.wrong"] * 5 + ["sign_in.throttled"] * 3
        with pytest.raises(Refused) as refusal:
            sessions.sign_in(cluster, name, PASSWORD, ELSEWHERE, "")
        assert (refusal.value.field, refusal.value.data) == ("name", {"minutes": 1})
        clock.move(seconds=31)
        assert code_of(cluster, name) == "sign_in.wrong"
        assert code_of(cluster, name) == "sign_in.throttled"
        clock.move(minutes=15)
        assert code_of(cluster, name) == "sign_in.wrong"
        assert actions(cluster).count("session.refused") == 7
        assert actions(cluster).count("session.locked") == 2

    def test_parallel_guesses_are_counted_before_they_are_judged(self, cluster: Cluster) -> None:
        with_password(cluster)
        codes = at_once(*[lambda: code_of(cluster, "minji")] * 12)
        assert sorted(str(code) for code in codes) == ["sign_in.throttled"] * 7 + ["sign_in.wrong"] * 5

    def test_the_right_password_waits_too(self, cluster: Cluster, clock: Clock) -> None:
        with_password(cluster)
        for _ in range(5):
            code_of(cluster, "minji")
        assert code_of(cluster, "minji", PASSWORD) == "sign_in.throttled"
        clock.move(seconds=31)
        assert code_of(cluster, "minji", PASSWORD) == "in"

    def test_a_guesser_elsewhere_does_not_lock_the_owner_out(self, cluster: Cluster, clock: Clock) -> None:
        with_password(cluster)
        assert code_of(cluster, "minji", PASSWORD, HOME) == "in"
        clock.move(days=20)
        for number in range(40):
            code_of(cluster, "minji", address=f"198.51.100.{number}")
        assert code_of(cluster, "minji", PASSWORD, ELSEWHERE) == "sign_in.throttled"
        assert code_of(cluster, "minji", PASSWORD, HOME) == "in"
        codes = [code_of(cluster, "minji", address=HOME) for _ in range(6)]
        assert codes[-1] == "sign_in.throttled"

    def test_one_address_that_tries_many_names_is_answered_later_and_keeps_nobody_out(
        self, cluster: Cluster, waits: list[float]
    ) -> None:
        with_password(cluster)
        codes = [code_of(cluster, f"name-{number}") for number in range(41)]
        assert codes == ["sign_in.wrong"] * 41
        assert waits == [1.0] * 10 + [2.0]
        assert code_of(cluster, "minji", PASSWORD, ELSEWHERE) == "in"
        assert waits[11:] == [2.0]
        assert code_of(cluster, "minji", PASSWORD, HOME) == "in"
        assert len(waits) == 12

    def test_a_known_browser_is_kept_out_by_nobody_at_its_address(
        self, cluster: Cluster, waits: list[float]
    ) -> None:
        """On one machine every job has the address of everybody."""
        with_password(cluster)
        assert code_of(cluster, "minji", PASSWORD, HOME) == "in"
        known = known_browsers.issue_browser_token(cluster, "minji")
        for number in range(40):
            code_of(cluster, f"name-{number}", address=HOME)
            code_of(cluster, "minji", address=HOME)
        waits.clear()
        assert code_of(cluster, "minji", PASSWORD, HOME) == "sign_in.throttled"
        assert sessions.sign_in(cluster, "minji", PASSWORD, HOME, "", browser_token=known)
        assert waits == []

    def test_a_known_browser_has_its_own_tries(self, cluster: Cluster, clock: Clock) -> None:
        with_password(cluster)
        known = known_browsers.issue_browser_token(cluster, "minji")
        codes = [code_of(cluster, "minji", browser_token=known) for _ in range(6)]
        assert codes == ["sign_in.wrong"] * 5 + ["sign_in.throttled"]
        other = known_browsers.issue_browser_token(cluster, "minji")
        assert code_of(cluster, "minji", PASSWORD, browser_token=other) == "in"

    def test_good_sign_ins_never_add_up_to_a_lock(self, cluster: Cluster) -> None:
        with_password(cluster)
        assert {code_of(cluster, "minji", PASSWORD) for _ in range(40)} == {"in"}

    def test_tries_are_forgotten_and_keep_no_name(self, cluster: Cluster, clock: Clock) -> None:
        code_of(cluster, "hunter2-hunter2")
        with cluster.store.read() as session:
            kept = session.query(FailedSignIn).one()
        assert len(kept.name) == 64 and "hunter" not in kept.name
        clock.move(hours=2)
        code_of(cluster, "minji")
        with cluster.store.read() as session:
            assert session.query(FailedSignIn).count() == 1

    @pytest.mark.parametrize(
        ("one", "other", "is_same"),
        [
            ("192.0.2.1", "192.0.2.1", True),
            ("192.0.2.1", "192.0.2.2", False),
            ("2001:db8:1:1::1", "2001:db8:1:1:ffff::9", True),
            ("2001:db8:1:1::1", "2001:db8:1:2::1", False),
            ("", "unix:", False),
        ],
    )
    def test_an_ipv6_customer_is_one_address(self, one: str, other: str, is_same: bool) -> None:
        assert (sign_in_throttle.network_of(one) == sign_in_throttle.network_of(other)) is is_same

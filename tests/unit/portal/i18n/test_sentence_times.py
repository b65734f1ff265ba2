"""Times in sentences carry their moment for programs, and nothing else becomes markup."""

from datetime import UTC, datetime

import pytest
from flask import Flask

from cluster.services.context import Cluster
from portal.i18n.sentence_times import with_times
from portal.shared_objects import share_object

AT = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)
TIME = '<time datetime="2026-11-20T05:06:00+00:00" title="2026-11-20 14:06:00">14:06</time>'


@pytest.fixture
def app(light_cluster: Cluster) -> Flask:
    app = Flask(__name__)
    share_object(app, Cluster, light_cluster)
    return app


@pytest.mark.parametrize(
    ("sentence", "data", "expected"),
    [
        ("Starts about 14:06.", {"at": AT.isoformat()}, f"Starts about {TIME}."),
        ("14:06쯤 시작합니다", {"at": AT}, f"{TIME}쯤 시작합니다"),
        ("run-14:06 at 14:06:30 or 114:06", {"at": AT}, "run-14:06 at 14:06:30 or 114:06"),
        ("<b> until 14:06", {"why": {"code": "x", "data": {"until": AT}}}, f"&lt;b&gt; until {TIME}"),
        ("Ends at 14:06", {"name": "14:06"}, "Ends at 14:06"),
        ("Ends at 14:06", None, "Ends at 14:06"),
        ("Ends at 14:06", {"at": "2026-99-99T05:06"}, "Ends at 14:06"),
    ],
)
def test_a_time_of_the_data_is_marked(
    app: Flask, sentence: str, data: dict[str, object], expected: str
) -> None:
    with app.test_request_context():
        assert str(with_times(sentence, data)) == expected

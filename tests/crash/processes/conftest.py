"""Real programs, a real Redis and the process executor, as the integration tests have them."""

from tests.integration.conftest import cluster, ground, redis_url, runtime, settings
from tests.integration.worker.scheduling.conftest import field_

__all__ = ["cluster", "field_", "ground", "redis_url", "runtime", "settings"]

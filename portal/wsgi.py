"""The WSGI application that gunicorn serves, configured from the environment."""

from werkzeug.middleware.proxy_fix import ProxyFix

from cluster.event_bus import RedisEventBus, connect_redis
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from portal import create_app

settings = Settings.from_environment()
app = create_app(
    Cluster(Store(settings.database_url), RedisEventBus(connect_redis(settings.redis_url)), settings)
)
if settings.is_behind_proxy:
    # The sockets of such an installation are open to the proxy alone, so its headers can be trusted.
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1)  # type: ignore[method-assign]

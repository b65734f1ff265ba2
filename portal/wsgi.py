"""What gunicorn serves: `portal.wsgi:app`, configured from the environment."""

from cluster.bell import RedisBell, connect
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from portal import create_app

settings = Settings.from_environment()
app = create_app(Cluster(Store(settings.database_url), RedisBell(connect(settings.redis_url)), settings))

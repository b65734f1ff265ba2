"""The environment variables with which a service works on the rows and folders of a test."""

from cluster.settings import Settings


def service_variables(settings: Settings, **more: str) -> dict[str, str]:
    return {
        "GROUNDCREW_STATE_DIR": str(settings.state_dir),
        "GROUNDCREW_CACHE_DIR": str(settings.cache_dir),
        "GROUNDCREW_DATABASE_URL": settings.database_url,
        "GROUNDCREW_REDIS_URL": settings.redis_url,
        "GROUNDCREW_SECRET_KEY": settings.secret_key,
        "GROUNDCREW_UID_BASE": str(settings.uid_base),
        "GROUNDCREW_GID_BASE": str(settings.gid_base),
        **more,
    }

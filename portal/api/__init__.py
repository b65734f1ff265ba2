"""REST under /api/v1: the same services as the pages, described as OpenAPI 3.1."""

from typing import Any

from flask import Flask
from flask_smorest import Api

from cluster.portal_paths import API
from portal.api import (
    accounting,
    datasets,
    heartbeats,
    images,
    jobs,
    nodes,
    queue,
    repairs,
    sweeps,
    trainings,
    workspaces,
)

FEATURES = (
    jobs,
    queue,
    sweeps,
    accounting,
    nodes,
    heartbeats,
    workspaces,
    trainings,
    datasets,
    images,
    repairs,
)


class PortalApi(Api):  # type: ignore[misc]
    """Leaves errors to the portal's one handler, which answers /api with problem+json."""

    def _register_error_handlers(self) -> None:
        pass


def init_app(app: Flask) -> PortalApi:
    app.config.update(
        API_TITLE="Groundcrew",
        API_VERSION="v1",
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX=API,
        OPENAPI_JSON_PATH="openapi.json",
    )
    api = PortalApi(app)
    scheme: dict[str, Any] = {
        "type": "http",
        "scheme": "bearer",
        "description": "A token from your profile page.",
    }
    api.spec.components.security_scheme("token", scheme)
    api.spec.options["security"] = [{"token": []}]
    for feature in FEATURES:
        api.register_blueprint(feature.blueprint, url_prefix=f"{API}/{feature.blueprint.url_name}")
    return api

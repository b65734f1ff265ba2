"""Views load and render; one file per feature, each with a `blueprint` that `portal.app` finds by itself."""

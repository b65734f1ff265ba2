"""The schema's history; `python -m cluster.store.migrations.draft "Jobs have a colour"` drafts a step."""

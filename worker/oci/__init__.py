"""Images in the OCI layout."""

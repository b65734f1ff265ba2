"""Container images as files: layers, archives, and the calls of skopeo."""

"""The default container images. An image is a training environment on a distribution, packed as one image archive."""

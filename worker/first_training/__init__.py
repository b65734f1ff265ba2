"""The training that `make up` runs to show that the installation works."""

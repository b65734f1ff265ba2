"""Datasets: unpacking an uploaded archive, scanning a folder, writing the sample digits."""

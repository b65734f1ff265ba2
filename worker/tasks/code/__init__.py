"""The code of trainings: unpacked from an uploaded archive, or fetched from a git repository."""

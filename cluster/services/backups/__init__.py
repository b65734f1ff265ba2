"""Backups: the catalogue, etcd's copies, and a restored database."""

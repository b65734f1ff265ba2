"""Backups: their manifests, etcd's snapshots, and restored databases."""

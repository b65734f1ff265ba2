"""Images and training environments in which jobs can run."""

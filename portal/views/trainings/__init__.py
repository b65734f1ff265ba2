"""Trainings: list, create, show, change, and their code."""

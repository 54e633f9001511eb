"""Trainings: the process that trains and compares a version, its supervisor, and verdicts on versions."""

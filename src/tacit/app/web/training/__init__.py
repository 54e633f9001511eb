"""Trainings: the process that trains and compares a version, who runs it, and verdicts on versions."""

"""Experiment `questions`: text queries, few of them judged."""

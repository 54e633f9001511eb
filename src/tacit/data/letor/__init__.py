"""LETOR feature lists and their folds."""

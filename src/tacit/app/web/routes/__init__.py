"""Routes of the service: one router for each subject."""

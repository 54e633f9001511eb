"""Routes of the service, by what they are about; each module adds its own to the application."""

"""Program judges: asking them for grades, comparing them with people, and keeping them apart from ranked systems."""

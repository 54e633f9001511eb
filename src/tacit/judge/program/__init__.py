"""Program judges: requesting grades, comparing them with people's, and keeping judges apart from ranked systems."""

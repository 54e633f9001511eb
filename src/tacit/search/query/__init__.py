"""What is typed into a search box: its syntax, words that are added to it, and what completes it."""

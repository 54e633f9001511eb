"""MediaWiki XML dumps: articles as plain text, and the links between them."""

"""Commands about judgments and measures: evaluate, advise, split, judgments."""

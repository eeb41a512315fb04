"""The task `translate`: from a source text to a target text, with scores and word alignments."""

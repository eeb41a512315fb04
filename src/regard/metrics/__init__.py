"""BLEU, chrF, TER, exact match, perplexity, alignment error rate and significance, from plain lists. No torch, no model, no files."""

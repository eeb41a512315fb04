"""BLEU, chrF, TER, exact match, perplexity and alignment error rate, from plain lists. No torch, no model, no files."""

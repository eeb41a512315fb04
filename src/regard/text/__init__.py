"""Text to ids and back: normalisation, tokenisers (BPE, unigram, word, character), vocabularies. No torch."""

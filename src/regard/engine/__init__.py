"""The one way to run a bundle: text in, translations, scores and alignments out, batched by length."""

"""The pocket corpus: a grammar that writes French and English side by side, with the links between their words."""

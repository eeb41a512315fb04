"""Terms of a glossary and protected strings: translations that have them."""

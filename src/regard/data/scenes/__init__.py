"""The scenes corpus: generated pictures of shapes with gold captions and gold regions."""

"""Models of other programs: a bundle is exported to their formats, and their models are imported as bundles."""

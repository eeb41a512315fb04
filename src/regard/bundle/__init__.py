"""Model directories (bundles): writing, finding, verifying, reading and describing them."""

"""The task `classify_images`: one label for a picture. `task = "classify"` with `data.images` means this task."""

"""The task `caption`: from a picture to a sentence about it, with scores and the place in the picture of each word."""

"""The files of checkpoints: what they hold, read and written without torch."""

"""kshell/checkpoints: the files of checkpoints, whole ones, odd ones and damaged ones."""

"""kshell/kapi/checkpoint: checkpoints and snapshots, kills while they are saved, damaged and hostile files."""

"""kshell/kapi/train: runs, their options and averages, and whole programs against plain PyTorch."""

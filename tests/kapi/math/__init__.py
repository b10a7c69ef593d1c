"""kshell/kapi/math: every math function against torch."""

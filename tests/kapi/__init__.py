"""kshell/kapi: the functions over torch. Here what takes several rooms, or is a room's only test."""

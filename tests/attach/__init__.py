"""kshell/attach: where programs that listen have their sockets, how they begin, and `kshell run`."""

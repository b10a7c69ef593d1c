"""HTTP and WebSockets on the port, and as a client. h11 and wsproto parse them; they are imported when somebody comes.

May import the rest of kshell/ipc, but not its handlers and port, which derive from what is here.
"""

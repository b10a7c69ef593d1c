"""A query prompt inside a running PyTorch program: how the program begins to listen (`startup.py`), where its sockets
are (`place.py`), and what it does there at its safe points (`host.py`)."""

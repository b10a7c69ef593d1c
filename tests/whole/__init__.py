"""What goes for the whole program: rows of q for every name, layers, stops, faults, memory and any text at all."""

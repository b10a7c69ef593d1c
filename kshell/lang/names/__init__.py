"""The names of .Q, .h, .j and .z. May import every other room of lang."""

"""Values and errors as text, and the lines that are typed. May import compiler."""

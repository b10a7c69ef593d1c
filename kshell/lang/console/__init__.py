"""Values and errors as text, and typed lines. May import compiler."""

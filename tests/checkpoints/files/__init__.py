"""Files of one kind each: what is read and written of them, and that what nobody changed stays as it was."""

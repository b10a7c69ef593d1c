"""Files of one kind each: how they are read and written."""

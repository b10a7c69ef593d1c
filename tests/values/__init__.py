"""kshell/values: the forms of lists, values that grow in place, and restricted evaluation."""

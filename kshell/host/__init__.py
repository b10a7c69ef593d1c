"""The side of a training program: a q session that answers at its safe points, finds its objects, records its steps,
and carries out edits as transactions. `kshell/attach` has the ways in, and the other side."""

"""The algebra of checkpoints, against formulas in float64, golden numbers, and mergekit and peft where they are."""

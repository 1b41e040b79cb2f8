"""One page with every figure: what each command of the lab prints and draws, and how to make it again."""

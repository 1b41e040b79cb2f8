"""Count uploads and what folds add up, each once."""

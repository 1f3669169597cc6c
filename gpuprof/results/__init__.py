"""Everything known of a run, as plain data: the model, its JSON, the history store, comparison."""

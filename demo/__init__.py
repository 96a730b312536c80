"""Demo: the documents of a small invented company, whole and broken, to run Canonry over."""

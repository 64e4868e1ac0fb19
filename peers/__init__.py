"""Other tools that read the same question, run over the case collection: `nox -s peers`."""

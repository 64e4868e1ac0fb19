"""What the project promises about speed and size, measured in one run: `nox -s bench`."""

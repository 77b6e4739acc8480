"""Programs for those who change this project."""

"""Finds the files to migrate, reads them into text and writes them back byte-true."""

"""The NAND in the drive, from outside: times of its operations, kinds of its pages, its blocks."""

"""The memories of the machine and every instruction that reads or writes them."""

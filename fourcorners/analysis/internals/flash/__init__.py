"""How flash is arranged and mapped."""

"""What holds the product against the truth; nothing that measures a user's drive needs it."""

"""FROM WHAT: the user's arrays, checked once and handed to the core without copies."""

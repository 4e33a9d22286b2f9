"""What a user holds: models with fit and predict."""

"""What is held against a budget: `rows` has the table."""

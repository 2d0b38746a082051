"""The REST operations: `operations` is the table, `api` answers them, `openapi` describes them."""

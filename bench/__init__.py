"""What rota's speed is, beside the least that PostgreSQL must do for the same work."""

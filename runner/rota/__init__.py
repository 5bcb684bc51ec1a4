"""rota: a job queue that lives inside PostgreSQL."""

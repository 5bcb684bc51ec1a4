revoke all on schema rota from public;
revoke all on all tables in schema rota from public;
revoke all on all sequences in schema rota from public;
revoke all on all functions in schema rota from public;

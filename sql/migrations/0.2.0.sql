-- Functions that claims and settlements no longer call.
drop function rota._claim_lane(bigint, rota._ready_lane, integer, timestamptz);
drop function rota._settle_completed(bigint[], integer[], jsonb[]);

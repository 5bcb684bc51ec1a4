create or replace function rota.replay_dead(
    ids bigint[] default null,
    queue text default null,
    kind text default null,
    reason text default null,
    payload_patch jsonb default null,
    max_jobs integer default 1000
)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    v_ids bigint[];
begin
    if jsonb_typeof(payload_patch) <> 'object' then
        perform rota._raise_invalid('payload_patch', 'must be a JSON object');
    end if;
    v_ids := rota._dead_ids(ids, queue, kind, reason, null, max_jobs);
    if payload_patch is not null then
        perform rota._check_patch(v_ids, payload_patch);
    end if;

    return query
    select r.*
    from rota._revive_jobs(rota._retake_keys(v_ids), payload_patch) as r;
end;
$$;

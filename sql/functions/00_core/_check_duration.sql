/* Durations are null (not given) or between p_least and a hundred years, so that no
sum with an instant can overflow. The comparison also refuses infinite intervals, but
takes a month for 30 days: years and days of opposite signs can hide behind it, so the
parts are looked at as well. */
create or replace function rota._check_duration(
    p_name text,
    p_value interval,
    p_least interval
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_value < p_least
        or extract(epoch from p_value) < extract(epoch from p_least)
    then
        perform rota._raise_invalid(p_name, 'must be at least ' || p_least::text);
    elsif p_value > interval '36525 days'
        or extract(year from p_value) not between -100 and 100
        or extract(day from p_value) not between -36525 and 36525
    then
        perform rota._raise_invalid(p_name, 'must be at most a hundred years');
    end if;
end;
$$;

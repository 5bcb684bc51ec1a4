begin;
select plan(17);

select is(rota.cron_describe(d.expression), d.sentence, d.expression || ' in English')
from (
    values
    ('30 2 * * *',
        'At 02:30 every day.'),
    ('*/15 9-17 * * MON-FRI',
        'Every 15 minutes of hours 9 through 17 on Monday through Friday.'),
    ('* * * * *',
        'Every minute.'),
    ('0 0 13 * 5',
        'At 00:00 on day 13 of the month and also on Friday.'),
    ('0 0 29 2 */7',
        'At 00:00 on day 29 of the month if that is Sunday in February.'),
    ('0 0 1,15,L 1,7 *',
        'At 00:00 on days 1 and 15 of the month and the last day of the month in January and July.'),
    ('0 0 * * 5L',
        'At 00:00 on the last Friday of the month.'),
    ('0 0 * * FRI#2,1,2',
        'At 00:00 on Monday and Tuesday and the second Friday of the month.'),
    ('0 */6 * * *',
        'At 00:00, 06:00, 12:00 and 18:00 every day.'),
    ('0 * * * *',
        'At minute 0 of every hour every day.'),
    ('*/7 * * * *',
        'At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour every day.'),
    ('*/5 * * 6 *',
        'Every 5 minutes in June.'),
    ('@every 90s',
        'Every 1 minute and 30 seconds, counted from when the schedule was made.'),
    ('@every 1h1m',
        'Every 1 hour and 1 minute, counted from when the schedule was made.'),
    ('@every 1d',
        'Every day, counted from when the schedule was made.'),
    ('@every 2w',
        'Every 14 days, counted from when the schedule was made.')
) as d (expression, sentence);
select throws_ok(
    $$ select rota.cron_describe('0 0 31 2 *') $$, 'RT004', 'invalid cron expression',
    'what never fires has no description'
);
select * from finish();
rollback;

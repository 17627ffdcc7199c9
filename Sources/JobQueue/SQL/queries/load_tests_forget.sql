-- What ended a day ago.
WITH gone AS (
    DELETE FROM load_test WHERE state = 'ended' AND ended_at < now() - interval '1 day' RETURNING id
)
DELETE FROM load_interval i USING gone WHERE i.test_id = gone.id

-- $1 asset, $2 lane and $3 job, both locked by the caller, $4 lease, $5 how many files its manifest lists, null where
-- these are as before. Granted when there are staged files and all that are listed: from here on the job is a
-- switch, which nothing but its end takes away. Its tries are counted anew.
WITH handed AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE ordinal < {{firstSidecar}}) AS listed, count(staged) AS staged
    FROM refreshed_file WHERE asset_id = $1::bigint
), granted AS (
    INSERT INTO refresh_switch (asset_id, job_id, lease_id, segments)
    SELECT $1::bigint, $3::bigint, $4::uuid, $5::int FROM handed
    WHERE staged > 0 AND ($5::int IS NULL OR listed = $5::int)
    RETURNING asset_id
), jobs AS (
    UPDATE job SET kind = 'switch', attempt = 0 FROM granted WHERE lane_id = $2::bigint AND id = $3::bigint
), assets AS (
    UPDATE asset a SET state = 'switching', changed_at = now() FROM granted g
    WHERE a.id = g.asset_id AND a.state = 'refreshing'
)
SELECT EXISTS (SELECT FROM granted) AS is_granted

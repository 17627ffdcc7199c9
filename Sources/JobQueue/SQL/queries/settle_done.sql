-- $1 jobs in the order of their numbers, $2 their leases, $3 bytes, $4 sha256, $5 adopted (pairwise),
-- $6 worker. The short way of a report: those of the jobs that are fetches of whole objects and that
-- the named lease of this worker holds are done, in one statement. Answers with their numbers; the
-- others are stale, or take the long way. A number is granted once: a job that is still there is
-- held by the lease whose span has it, if that lease still stands.
WITH held AS MATERIALIZED (
    -- OFFSET 0 keeps the way from the leases that are named, by index, whatever the statistics say.
    SELECT p.lease_id, p.lane_id, p.first_id, p.last_id
    FROM (SELECT DISTINCT lease FROM unnest($2::uuid[]) AS u(lease)) AS named
    CROSS JOIN LATERAL (
        SELECT FROM lease WHERE id = named.lease AND worker_id = $6::uuid OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = named.lease OFFSET 0) AS p
), reported AS MATERIALIZED (
    SELECT p.lane_id, r.*
    FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[], $5::bool[])
        AS r(job, lease, bytes, sha256, adopted)
    JOIN held p ON p.lease_id = r.lease AND r.job BETWEEN p.first_id AND p.last_id
    ORDER BY r.job
), settled AS MATERIALIZED (
    DELETE FROM job j USING reported r
    WHERE j.lane_id = r.lane_id AND j.id = r.job AND j.kind = 'fetch' AND j.whole_id IS NULL
    RETURNING j.lane_id, j.id, j.asset_id, j.segment_id, j.attempt, true AS done, r.bytes, r.sha256, r.adopted,
              NULL::text AS code, NULL::text AS message
), well AS (
    SELECT o.id, o.breaker FROM origin o
    WHERE (o.failures > 0 OR o.breaker <> 'closed') AND o.id <> 0
      AND o.id = ANY(ARRAY(SELECT l.origin_id FROM lane l WHERE l.id = ANY(ARRAY(
              SELECT DISTINCT lane_id FROM settled WHERE NOT adopted))))
    ORDER BY o.id FOR UPDATE
), healed AS (
    UPDATE origin o SET failures = 0, openings = 0, breaker = 'closed',
        cooldown_until = CASE WHEN w.breaker = 'closed' THEN o.cooldown_until END
    FROM well w WHERE o.id = w.id
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, 'closed', 'a job succeeded' FROM well WHERE breaker <> 'closed'
), {{settleFetches}}
SELECT id FROM settled

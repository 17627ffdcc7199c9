-- $1 seconds. Origins that no list names, that are not left alone and did nothing to be remembered for so long.
WITH over AS MATERIALIZED (
    SELECT id FROM origin
    WHERE NOT is_listed AND NOT has_own_limits AND id <> 0
      AND noted_at < now() - make_interval(secs => $1::float8)
      AND (cooldown_until IS NULL OR cooldown_until < now())
    ORDER BY id FOR UPDATE SKIP LOCKED
), decisions AS (
    DELETE FROM origin_decision d USING over WHERE d.origin_id = over.id
)
DELETE FROM origin o USING over WHERE o.id = over.id

-- $1 lane and $2 job, locked by the caller, $3 code, $4 message. Which of the staged files have moved is not known:
-- what was known of those keys is forgotten, so that they are fetched. The asset has failed; whatever begins it
-- again asks for its manifest.
WITH gone AS MATERIALIZED (
    DELETE FROM job WHERE lane_id = $1::bigint AND id = $2::bigint RETURNING asset_id
), files AS MATERIALIZED (
    DELETE FROM refreshed_file f USING gone g WHERE f.asset_id = g.asset_id
    RETURNING f.asset_id, f.key, f.staged
), switches AS (
    DELETE FROM refresh_switch w USING gone g WHERE w.asset_id = g.asset_id
), results AS (
    DELETE FROM result r USING files f, segment s
    WHERE f.staged IS NOT NULL AND s.asset_id = f.asset_id AND s.key = f.key
      AND r.segment_id = s.id
), unknown AS (
    UPDATE segment s SET known_bytes = NULL, known_sha256 = NULL, known_verified = NULL,
        known_validator = NULL
    FROM files f
    WHERE f.staged IS NOT NULL AND s.asset_id = f.asset_id AND s.key = f.key
      AND s.known_sha256 IS NOT NULL
), settled AS (
    UPDATE asset a SET state = 'failed', refreshed = 'failed', resolved = false,
        failure_code = $3, failure_message = $4, changed_at = now()
    FROM gone g WHERE a.id = g.asset_id AND a.state = 'switching'
    RETURNING a.catalog_id, a.directory_id
)
INSERT INTO tally (catalog_id, directory_id, assets_failed)
SELECT catalog_id, directory_id, 1 FROM settled

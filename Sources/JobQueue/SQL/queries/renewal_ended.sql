-- $1 asset, $2 lane and $3 number of the job that read its manifest for fresh URLs. Answers how many jobs are due now.
WITH gone AS (
    DELETE FROM job WHERE lane_id = $2::bigint AND id = $3::bigint
), released AS (
    UPDATE delayed_job d SET available_at = now(), refused_code = NULL, refused_message = NULL
    FROM asset a
    WHERE a.id = $1::bigint AND d.asset_id = a.id AND d.refused_code IS NOT NULL
      AND (
        -- A file that is fetched again as a whole; no origin refused its URL.
        d.refused_code = 'content.changed'
        -- Refused after the manifest had listed it: the next try has the URL of this reading.
        OR EXISTS (SELECT FROM segment s
                   WHERE s.id = d.segment_id AND s.renewed_at >= a.renewing_since))
    RETURNING 1
)
UPDATE asset SET renewing_since = NULL WHERE id = $1::bigint
RETURNING (SELECT count(*) FROM released) AS released

-- $1 asset, $2 lane and $3 number of the job that read its manifest for fresh URLs. Answers how much is due since then.
WITH gone AS (
    DELETE FROM job WHERE lane_id = $2::bigint AND id = $3::bigint
), released AS (
    -- Files that are fetched again as a whole; no origin refused their URLs.
    UPDATE delayed_job SET available_at = now(), refused_code = NULL
    WHERE asset_id = $1::bigint AND refused_code = 'content.changed'
    RETURNING 1
)
UPDATE asset SET renewing = false WHERE id = $1::bigint
RETURNING (SELECT count(*) FROM released) AS released

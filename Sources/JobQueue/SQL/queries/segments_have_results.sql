-- $1 asset. Whether anything was ever reported of its segments.
SELECT EXISTS (
    SELECT FROM segment s JOIN result r ON r.segment_id = s.id WHERE s.asset_id = $1::bigint
) AS have_results

-- $1 assets. Their sidecars that failed and are not required.
SELECT s.asset_id, s.url, s.key, r.failure_code, r.failure_message
FROM segment s JOIN result r ON r.segment_id = s.id AND NOT r.done
WHERE s.asset_id = ANY($1::bigint[]) AND s.ordinal >= {{firstSidecar}} AND s.optional
ORDER BY s.asset_id, s.ordinal

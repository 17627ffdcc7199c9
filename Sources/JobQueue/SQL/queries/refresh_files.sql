-- $1 asset, $2 number of the last file before the page, $3 most rows. What is stored of it, and what is known
-- of that.
SELECT s.ordinal, s.url, s.key, s.role, s.expected_bytes, s.expected_sha256, s.expected_digests,
       s.optional, s.mirrors, r.bytes, r.sha256, r.validator, r.verified,
       s.role = 'playlist' AND EXISTS (SELECT FROM document d WHERE d.segment_id = s.id) AS is_document
FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
WHERE s.asset_id = $1::bigint AND s.part = 0 AND s.ordinal > $2::int
ORDER BY s.ordinal LIMIT $3::int

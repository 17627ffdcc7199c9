-- $1 asset, $2 number of the last file before the page, $3 most rows. Its staged files, and who staged them.
SELECT f.ordinal, f.url, f.key, f.role, f.bytes, f.sha256, f.staged, w.job_id, w.lease_id
FROM refresh_switch w
LEFT JOIN LATERAL (
    SELECT * FROM refreshed_file
    WHERE asset_id = w.asset_id AND ordinal > $2::int AND staged IS NOT NULL
    ORDER BY ordinal LIMIT $3::int
) AS f ON true
WHERE w.asset_id = $1::bigint
ORDER BY f.ordinal

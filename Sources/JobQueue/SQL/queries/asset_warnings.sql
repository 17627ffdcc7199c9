-- $1 asset, $2 warnings about its manifests as JSON, or null.
UPDATE asset SET warnings = $2::text WHERE id = $1::bigint AND warnings IS DISTINCT FROM $2::text

-- $1 asset, $2 lowest and $3 highest number. Whether it has any of these segments.
SELECT EXISTS (
    SELECT FROM segment WHERE asset_id = $1::bigint AND ordinal BETWEEN $2::int AND $3::int
) AS is_known

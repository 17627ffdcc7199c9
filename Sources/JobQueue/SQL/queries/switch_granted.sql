-- $1 asset, $2 lease. Whether its switch was granted under this lease.
SELECT EXISTS (
    SELECT FROM refresh_switch WHERE asset_id = $1::bigint AND lease_id = $2::uuid
) AS is_granted

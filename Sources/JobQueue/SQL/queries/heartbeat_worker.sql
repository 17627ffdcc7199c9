-- $1 worker, $2 name, $3 active transfers, $4 progress by asset.
INSERT INTO worker (id, name, active_transfers, progress)
VALUES ($1::uuid, $2, $3::int, $4::jsonb)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, active_transfers = excluded.active_transfers,
    progress = excluded.progress, last_seen = now()

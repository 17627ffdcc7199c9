-- $1 worker, $2 name, $3 active transfers, $4 progress by asset; $5 code and $6 message of what keeps it
-- from getting work, or null; $7 storage URLs that it may write to, or null, $8 sites that it refuses; $9 the queues
-- that it takes jobs of, or null for all.
INSERT INTO worker (id, name, active_transfers, progress, trouble_code, trouble_message,
                    trouble_since, roots, refused_sites, queues)
VALUES ($1::uuid, $2, $3::int, $4::jsonb, $5::text, $6::text,
        CASE WHEN $5::text IS NOT NULL THEN now() END,
        $7::text[], $8::bigint[], $9::text[])
ON CONFLICT (id) DO UPDATE SET name = excluded.name, active_transfers = excluded.active_transfers,
    progress = excluded.progress, last_seen = now(), trouble_code = excluded.trouble_code,
    trouble_message = excluded.trouble_message, roots = excluded.roots,
    refused_sites = excluded.refused_sites, queues = excluded.queues,
    trouble_since = CASE WHEN excluded.trouble_code IS NOT NULL
                         THEN coalesce(worker.trouble_since, now()) END

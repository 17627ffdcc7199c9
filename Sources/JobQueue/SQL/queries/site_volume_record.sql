-- $1 site, $2 worker, $3 lease, $4 volume, $5 file system or null. Records the volume that a site is on, unless one is
-- recorded, and the file system of the recorded one, for a worker whose lease holds jobs of the site. What is recorded
-- then; no row where it holds none.
UPDATE site t SET volume_id = coalesce(t.volume_id, $4::uuid),
    volume_file_system = CASE WHEN coalesce(t.volume_id, $4::uuid) = $4::uuid THEN $5::text
                              ELSE t.volume_file_system END
WHERE t.id = $1::bigint
  AND EXISTS (SELECT FROM lease WHERE id = $3::uuid AND worker_id = $2::uuid)
  AND EXISTS (SELECT FROM span p JOIN lane n ON n.id = p.lane_id JOIN queue q ON q.id = n.queue_id
              JOIN job j ON j.lane_id = p.lane_id AND j.id BETWEEN p.first_id AND p.last_id
              WHERE p.lease_id = $3::uuid AND q.site_id = $1::bigint)
RETURNING volume_id, volume_file_system

-- $1 job that waits for its turn. Locks whose turn it is, if anybody's.
SELECT w.job_id FROM job j JOIN directory d ON d.id = j.directory_id
JOIN sums_writer w ON w.site_id = d.site_id AND w.path = d.path
WHERE j.lane_id IN (SELECT lane_id FROM span WHERE lease_id = $2::uuid) AND j.id = $1::bigint
FOR UPDATE OF w

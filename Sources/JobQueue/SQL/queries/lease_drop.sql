-- $1 lease. One that a claim left with nothing, because its jobs were taken away while it ran; it has
-- spans, which one that was released before it was granted has not.
DELETE FROM lease WHERE id = $1::uuid AND EXISTS (SELECT FROM span WHERE lease_id = $1::uuid)

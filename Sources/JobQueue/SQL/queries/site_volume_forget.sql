-- $1 site. What a worker finds there next is its volume.
UPDATE site SET volume_id = NULL WHERE id = $1::bigint

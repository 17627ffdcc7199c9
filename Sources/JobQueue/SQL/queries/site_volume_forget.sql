-- $1 site. What a worker finds there next is its volume.
UPDATE site SET volume_id = NULL, volume_file_system = NULL WHERE id = $1::bigint

-- $1 origins. Whoever divides their limits has their rows.
SELECT id FROM origin WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE

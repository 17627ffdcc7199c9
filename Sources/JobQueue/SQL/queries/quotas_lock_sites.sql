-- $1 sites. Whoever divides their limits has their rows.
SELECT id FROM site WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE

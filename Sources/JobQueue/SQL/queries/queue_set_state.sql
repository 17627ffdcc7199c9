-- $1 name, $2 state.
UPDATE queue SET state = $2 WHERE name = $1 RETURNING id

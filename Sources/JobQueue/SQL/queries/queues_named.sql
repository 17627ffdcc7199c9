-- $1 queue names, empty for all; $2 most rows.
SELECT id FROM queue WHERE cardinality($1::text[]) = 0 OR name = ANY($1::text[]) LIMIT $2::int

-- $1 catalog. No claim takes from its lanes until the end of the transaction.
SELECT count(*) FROM (SELECT id FROM lane WHERE catalog_id = $1 ORDER BY id FOR UPDATE) AS l

-- $1 URLs.
SELECT id, url FROM origin WHERE url = ANY($1::text[])

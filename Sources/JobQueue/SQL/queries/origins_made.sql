-- $1 URLs, in order.
INSERT INTO origin (url) SELECT * FROM unnest($1::text[]) ON CONFLICT (url) DO NOTHING

-- $1 URLs of origins that a list or a manifest names, in order. They get their rows, and keep them.
INSERT INTO origin (url, is_listed)
SELECT u.url, true FROM unnest($1::text[]) AS u(url)
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = u.url AND o.is_listed)
ON CONFLICT (url) DO UPDATE SET is_listed = true

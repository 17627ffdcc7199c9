-- $1 storage URL. The site's number, made on first use.
INSERT INTO site (storage_url) VALUES ($1)
ON CONFLICT (storage_url) DO UPDATE SET storage_url = excluded.storage_url
RETURNING id

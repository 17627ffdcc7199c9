-- The volume that the site's directory is on, by the mark that a worker found or made there; null until then.
ALTER TABLE site ADD COLUMN volume_id uuid;

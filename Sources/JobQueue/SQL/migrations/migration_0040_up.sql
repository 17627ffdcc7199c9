-- When a worker last reported that it wrote the directory's SHA256SUMS for this catalog.
ALTER TABLE directory ADD COLUMN sums_at timestamptz;

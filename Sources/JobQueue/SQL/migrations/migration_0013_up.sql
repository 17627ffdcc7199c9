-- What an origin has stated of the whole of a file in parts: md5=…, sha256=…, in hex digits.
ALTER TABLE assembly ADD COLUMN digests text[] NOT NULL DEFAULT '{}';

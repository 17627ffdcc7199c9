-- Digests beside SHA-256 that a list names: crc32c=…,md5=… in hex digits.
ALTER TABLE asset ADD COLUMN expected_digests text;
-- A whole file is not divided again once its origin has promised ranges and served none.
ALTER TABLE segment ADD COLUMN expected_digests text, ADD COLUMN is_whole boolean;
-- Whether the bytes were compared with what a list or an origin states; null is no.
ALTER TABLE result ADD COLUMN verified boolean;

-- Since when a title's manifest is read again for fresh URLs: a segment whose URL was replaced since then is listed by it.
ALTER TABLE asset ADD COLUMN renewing_since timestamptz;
UPDATE asset SET renewing_since = now() WHERE renewing;
ALTER TABLE asset DROP COLUMN renewing;

-- Rules that the manifests of a title break and that it was read past, as JSON; null for none.
ALTER TABLE asset ADD COLUMN warnings text;

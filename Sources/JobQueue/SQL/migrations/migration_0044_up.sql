-- Which query parameters belong to the keys of a catalog, by origin: of each origin, '' for all others, the regular
-- expressions of those that are kept and of those that are left out. Null where their names tell.
ALTER TABLE catalog ADD COLUMN key_queries jsonb;

-- Of a site with a quota: the bytes of what its workers have under way, as they said last.
ALTER TABLE site ADD COLUMN under_way_bytes bigint NOT NULL DEFAULT 0;

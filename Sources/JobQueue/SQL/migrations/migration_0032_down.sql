DROP FUNCTION outside_roots(bigint);
ALTER TABLE worker DROP COLUMN roots, DROP COLUMN refused_sites;

-- One row: what tells this database's assets and jobs from those of others whose workers store at the same
-- site, for their numbers are the same.
CREATE TABLE cluster (id uuid NOT NULL);
INSERT INTO cluster (id) VALUES (gen_random_uuid());

-- What is wanted of a catalog's titles, as JSON; null for all of it.
ALTER TABLE catalog ADD COLUMN title_options text;
-- Manifests that are to lie at the edge otherwise than they were served, until their segments go. Without a
-- reference, which would be looked up for each of a million segments that has none; the sweep forgets.
CREATE TABLE document (
    segment_id bigint PRIMARY KEY,
    content text NOT NULL
);

-- Other URLs of a file's bytes; what has none has no row.
CREATE TABLE mirror (
    asset_id bigint PRIMARY KEY,
    urls text[] NOT NULL CHECK (cardinality(urls) > 0)
);
-- Whether any of its assets ever had some: a claim looks for them only then.
ALTER TABLE catalog ADD COLUMN has_mirrors boolean NOT NULL DEFAULT false;

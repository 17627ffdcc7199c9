-- Whether a list names it, or a manifest, or an operator: others are there for what they did, and go when that
-- is over.
ALTER TABLE origin ADD COLUMN is_listed boolean NOT NULL DEFAULT true,
    -- When it last did something that was to be remembered; of those that no list names.
    ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX origin_unlisted ON origin (id) WHERE NOT is_listed;

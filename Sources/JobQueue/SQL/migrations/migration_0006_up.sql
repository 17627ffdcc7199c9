-- What keeps a worker from getting work, by its own account, and since when.
ALTER TABLE worker ADD COLUMN trouble_code text, ADD COLUMN trouble_message text,
    ADD COLUMN trouble_since timestamptz;
-- When a submission to it was opened last: from then on it is not forgotten for some time.
ALTER TABLE catalog ADD COLUMN opened_at timestamptz NOT NULL DEFAULT now();

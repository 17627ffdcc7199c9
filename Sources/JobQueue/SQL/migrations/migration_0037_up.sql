-- When coordinators last swept leases, and since when they did without a pause. `machine` is that on which all of
-- a private cluster runs, as it was started last; null for others.
ALTER TABLE cluster ADD COLUMN served_at timestamptz, ADD COLUMN served_since timestamptz,
    ADD COLUMN machine text;

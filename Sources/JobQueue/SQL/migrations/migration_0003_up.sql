-- The most a site may be fed with whatever its schedule says, and when the schedule will say something
-- else. `closed` and `bytes_per_second` are what is in force.
ALTER TABLE site ADD COLUMN max_bytes_per_second bigint CHECK (max_bytes_per_second > 0),
    ADD COLUMN next_change timestamptz;

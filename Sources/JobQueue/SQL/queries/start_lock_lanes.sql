-- $1 catalog. Locks its lanes before numbers are drawn; what is added to them makes them ready, and a
-- lane that turns out to be empty is not for long.
WITH locked AS MATERIALIZED (
    SELECT id FROM lane WHERE catalog_id = $1 ORDER BY id FOR UPDATE
)
-- Written whatever this statement's snapshot says: a claim that held the lock may have emptied it.
UPDATE lane SET ready_since = coalesce(lane.ready_since, now()) FROM locked
WHERE lane.id = locked.id

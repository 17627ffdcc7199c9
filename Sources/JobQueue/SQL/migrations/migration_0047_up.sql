-- The deadline of the submission that was opened last; deadline is that of the one that was started last.
ALTER TABLE catalog ADD COLUMN opened_deadline timestamptz;
-- A deadline that was over when a catalog was last started counts as missed from now on. Until this version it did not
-- count: those of runs before are removed.
UPDATE catalog SET deadline = NULL WHERE deadline <= started_at;
UPDATE catalog SET opened_deadline = deadline WHERE deadline IS NOT NULL;

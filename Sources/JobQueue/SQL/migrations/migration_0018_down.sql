-- What the step before knows: such an asset starts from nothing.
UPDATE asset SET redefined = true WHERE sidecars_changed;
ALTER TABLE asset DROP COLUMN sidecars_changed;

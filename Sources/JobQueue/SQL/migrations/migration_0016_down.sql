-- Behind every segment that a manifest may have; they would count as the asset's own.
WITH sidecars AS (
    DELETE FROM segment WHERE ordinal >= {{firstSidecar}} RETURNING id
)
DELETE FROM result USING sidecars WHERE result.segment_id = sidecars.id;
ALTER TABLE segment DROP COLUMN optional;
DROP INDEX asset_with_sidecars;
ALTER TABLE asset DROP COLUMN sidecars;

-- What was cancelled has failed.
UPDATE asset SET state = 'failed' WHERE state = 'cancelled';
UPDATE tally SET assets_failed = assets_failed + assets_cancelled WHERE assets_cancelled > 0;
UPDATE catalog SET assets_failed = assets_failed + assets_cancelled,
    state = CASE WHEN state = 'cancelled' THEN 'failed' ELSE state END
WHERE assets_cancelled > 0 OR state = 'cancelled';
ALTER TABLE tally DROP COLUMN assets_cancelled;
ALTER TABLE catalog DROP COLUMN assets_cancelled;

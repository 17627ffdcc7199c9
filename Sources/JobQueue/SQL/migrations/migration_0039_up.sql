-- Cancelled is a state of its own.
ALTER TABLE asset DROP CONSTRAINT IF EXISTS asset_state_check,
    ADD CONSTRAINT asset_state_check CHECK (state IN ({{assetStates}}));
ALTER TABLE catalog DROP CONSTRAINT IF EXISTS catalog_state_check,
    ADD CONSTRAINT catalog_state_check CHECK (state IN ({{catalogStates}})),
    ADD COLUMN assets_cancelled bigint NOT NULL DEFAULT 0;
ALTER TABLE tally ADD COLUMN assets_cancelled int NOT NULL DEFAULT 0;

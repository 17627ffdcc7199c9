-- What of a site's room is left alone, and why nothing can be written there now.
ALTER TABLE site RENAME COLUMN closed TO schedule_closed;
ALTER TABLE site
    -- Bytes of its file system that stay free.
    ADD COLUMN floor_bytes bigint CHECK (floor_bytes > 0),
    -- The most that its catalogs may hold.
    ADD COLUMN quota_bytes bigint CHECK (quota_bytes > 0),
    -- What workers saw of its file system last.
    ADD COLUMN available_bytes bigint, ADD COLUMN seen_at timestamptz,
    ADD COLUMN fault_code text, ADD COLUMN fault_message text,
    -- When it began; kept after its end, until the next one.
    ADD COLUMN fault_since timestamptz,
    -- When a worker tries again whether the site can be written; null while one does.
    ADD COLUMN fault_retry_at timestamptz,
    -- How often it was paused in a row, from which the time between tries follows.
    ADD COLUMN fault_tries int NOT NULL DEFAULT 0,
    -- When it last could be written again.
    ADD COLUMN fault_ended_at timestamptz;
ALTER TABLE site
    -- Nothing may be fetched, by its schedule or because it cannot be written.
    ADD COLUMN closed boolean NOT NULL
        GENERATED ALWAYS AS (schedule_closed
                             OR (fault_code IS NOT NULL AND fault_retry_at IS NOT NULL)) STORED;

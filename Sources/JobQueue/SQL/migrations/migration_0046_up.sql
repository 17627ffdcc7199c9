-- The file system that the site's volume was last found on; null where that has no identity.
ALTER TABLE site ADD COLUMN volume_file_system text,
    -- Whatever volume a worker finds next is the site's, also where files are stored by the record.
    ADD COLUMN volume_accepted boolean NOT NULL DEFAULT false,
    -- When an operator last ended a fault of the site.
    ADD COLUMN resumed_at timestamptz;

ALTER TABLE catalog DROP COLUMN opened_at;
ALTER TABLE worker DROP COLUMN trouble_code, DROP COLUMN trouble_message,
    DROP COLUMN trouble_since;

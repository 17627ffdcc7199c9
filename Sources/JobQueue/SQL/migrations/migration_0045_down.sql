ALTER TABLE asset ADD COLUMN renewing boolean NOT NULL DEFAULT false;
UPDATE asset SET renewing = true WHERE renewing_since IS NOT NULL;
ALTER TABLE asset DROP COLUMN renewing_since;

-- What the steps before know: there is nothing to refresh.
{{refreshesEnded}}
ALTER TABLE asset DROP COLUMN refreshed;
DROP TABLE refreshed_file;

ALTER TABLE segment DROP COLUMN mirrors;

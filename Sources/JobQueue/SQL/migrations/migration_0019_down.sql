ALTER TABLE result DROP COLUMN validator;

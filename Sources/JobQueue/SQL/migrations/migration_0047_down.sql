UPDATE catalog SET deadline = opened_deadline WHERE opened_generation > generation;
ALTER TABLE catalog DROP COLUMN opened_deadline;

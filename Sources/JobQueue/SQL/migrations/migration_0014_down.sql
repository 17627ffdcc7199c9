ALTER TABLE segment DROP COLUMN former_assembly;
ALTER TABLE assembly DROP COLUMN bytes_done;

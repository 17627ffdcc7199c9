DROP TRIGGER assembly_gone ON assembly;
DROP FUNCTION note_abandoned_assemblies();
DROP TABLE abandoned_assembly;
ALTER TABLE assembly DROP COLUMN site_id;

-- Other URLs of the bytes of a title's segment, a line each; null for those that have none.
ALTER TABLE segment ADD COLUMN mirrors text;

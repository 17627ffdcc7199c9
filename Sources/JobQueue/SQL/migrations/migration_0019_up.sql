-- What an origin calls the bytes that it served: an ETag, else a Last-Modified date. Null where it gave neither.
ALTER TABLE result ADD COLUMN validator text;

-- What a coordinator's role needs of a schema that another role owns; {{schema}} and {{role}} are identifiers.
GRANT USAGE ON SCHEMA {{schema}} TO {{role}};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {{schema}} TO {{role}};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {{schema}} TO {{role}};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {{schema}} TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT USAGE ON SEQUENCES TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT EXECUTE ON FUNCTIONS TO {{role}}

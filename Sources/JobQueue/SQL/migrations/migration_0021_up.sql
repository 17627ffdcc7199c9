-- The site at which it takes room.
ALTER TABLE assembly ADD COLUMN site_id bigint;
UPDATE assembly y SET site_id = c.site_id
FROM segment s JOIN asset a ON a.id = s.asset_id JOIN catalog c ON c.id = a.catalog_id
WHERE s.id = y.segment_id;

-- Assemblies that nobody goes on with: whoever works at the site next removes their files, once.
CREATE TABLE abandoned_assembly (
    id uuid PRIMARY KEY,
    site_id bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now()
);

-- However one ends. Of one that was put together there is no such file any more.
CREATE FUNCTION note_abandoned_assemblies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abandoned_assembly (id, site_id)
    SELECT id, site_id FROM gone WHERE site_id IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER assembly_gone AFTER DELETE ON assembly REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_abandoned_assemblies();

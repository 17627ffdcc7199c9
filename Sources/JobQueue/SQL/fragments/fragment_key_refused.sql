UPDATE asset a SET
    key_taken = true, state = 'failed', failure_code = 'storage.pathConflict',
    -- Nothing that may be a secret: a key has a token where an operator keeps that.
    failure_message = left(regexp_replace(t.key, '[?].*$', '?…'), 300) || ': ' || left(regexp_replace(
            regexp_replace(t.holder, '[?#].*$', '?…'), '{{tokenInPath}}', '\1…', 'gi'), 300)
        || ' of catalog ' || t.holder_catalog || ' is stored there'
        || CASE WHEN t.is_other_catalog
            THEN '; submit under the name ' || t.holder_catalog || ' to replace it' ELSE '' END,
    segments = 0, segments_done = 0, segments_failed = 0, verifies = 0, verifies_done = 0,
    verifies_failed = 0, bytes = 0, adopted_bytes = 0, retries = 0, refreshed = NULL,
    changed_at = now()
FROM taken t WHERE a.id = t.id AND a.state IN ({{assetRefusable}})

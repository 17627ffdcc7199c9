-- Access tokens, and the audit log of changes.

-- fragment: tokenColumns
SELECT t.id, t.name, t.role, t.queues, t.sites, t.created_by,
       extract(epoch FROM t.created_at)::float8 AS created,
       extract(epoch FROM t.expires_at)::float8 AS expires,
       extract(epoch FROM t.revoked_at)::float8 AS revoked,
       extract(epoch FROM t.last_used_at)::float8 AS last_used,
       extract(epoch FROM clock_timestamp())::float8 AS now

-- name: tokens
{{tokenColumns}}
FROM access_token t ORDER BY t.id DESC LIMIT @limit::int

-- name: knownTokens
-- Those that coordinators know: neither revoked nor expired for a day.
SELECT t.id, t.name, t.role, encode(t.hash, 'hex') AS hash, t.queues, t.sites,
       extract(epoch FROM t.expires_at - clock_timestamp())::float8 AS seconds_left
FROM access_token t
WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now() - interval '1 day')

-- name: lockTokens
-- Two that are created at once count each other.
LOCK TABLE access_token IN SHARE ROW EXCLUSIVE MODE

-- name: countTokens
-- Of `knownTokens`; and the time.
SELECT count(*) AS tokens, extract(epoch FROM clock_timestamp())::float8 AS now
FROM access_token t
WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now() - interval '1 day')

-- name: createToken
-- @name is null for one made of role and number. No row where another token has it.
WITH next AS (
    SELECT nextval(pg_get_serial_sequence('access_token', 'id')) AS id
), t AS (
    INSERT INTO access_token (id, name, role, hash, queues, sites, created_by, expires_at)
    OVERRIDING SYSTEM VALUE
    SELECT n.id, coalesce(@name::text, @role::text || '-' || n.id), @role::text, @hash::bytea,
           @queues::text[], @sites::text[], @created_by::text, to_timestamp(@expires::float8)
    FROM next n
    ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING *
)
{{tokenColumns}} FROM t

-- name: revokeToken
-- By number, or by the name of one that is not revoked. A second time changes nothing.
WITH t AS (
    UPDATE access_token SET revoked_at = coalesce(revoked_at, clock_timestamp())
    WHERE id = coalesce(@token::bigint,
                        (SELECT id FROM access_token WHERE name = @name::text AND revoked_at IS NULL))
    RETURNING *
)
{{tokenColumns}} FROM t

-- name: notifyTokens
SELECT pg_notify('dray_work', 'tokens')

-- name: noteUses
-- To the minute, so that a busy token's row is not written all the time.
WITH used AS MATERIALIZED (
    SELECT id FROM access_token
    WHERE id = ANY(@tokens::bigint[])
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE access_token t SET last_used_at = now() FROM used u WHERE t.id = u.id

-- name: forgetTokens
-- Those that ended long ago.
DELETE FROM access_token
WHERE least(revoked_at, expires_at) < now() - make_interval(days => @days::int)

-- name: sitesOfQueues
-- Those of @sites that are of one of these queues.
SELECT site_id FROM queue WHERE name = ANY(@queues::text[]) AND site_id = ANY(@sites::bigint[])

-- name: siteOfCatalog
SELECT s.storage_url FROM catalog c JOIN site s ON s.id = c.site_id WHERE c.id = @catalog::bigint

-- name: beginChange
-- The change is not known to have been made before its row is there. That may be written to disk with
-- the change: later commits wait for it as well.
INSERT INTO audit_record (token_id, token_name, role, action, object)
VALUES (@token::bigint, @name::text, @role::text, @action::text, @object::text)
RETURNING id

-- name: endChange
UPDATE audit_record SET status = @status::int, code = @code::text WHERE id = @id::bigint

-- name: auditPage
SELECT a.id, extract(epoch FROM a.begun_at)::float8 AS begun, a.token_id, a.token_name, a.role,
       a.action, a.object, a.status::bigint AS status, a.code
FROM audit_record a
WHERE a.id < coalesce(@after::bigint, 9223372036854775807) ORDER BY a.id DESC LIMIT @limit::int

-- name: trimAudit
-- Some of the oldest: those of long ago, and those beyond @rows.
DELETE FROM audit_record WHERE id IN (
    SELECT id FROM audit_record
    WHERE id <= (SELECT max(id) FROM audit_record) - @rows::bigint
       OR id <= (SELECT id FROM audit_record
                 WHERE begun_at < now() - make_interval(days => @days::int)
                 ORDER BY begun_at DESC LIMIT 1)
    ORDER BY id LIMIT @limit::int
)

-- name: beginRequest
-- No row while the key is held. That of a coordinator that was lost is free after @lost seconds.
INSERT INTO repeated_request AS r (caller, key, digest)
VALUES (@caller::bigint, @key::text, @digest::bytea)
ON CONFLICT (caller, key) DO UPDATE
    SET digest = excluded.digest, number = DEFAULT, begun_at = DEFAULT, status = NULL, answer = NULL
    WHERE r.begun_at < now() - make_interval(hours => @hours::int)
       OR r.status IS NULL AND r.begun_at < now() - make_interval(secs => @lost::int)
RETURNING r.number

-- name: heldRequest
SELECT r.digest, r.status::bigint AS status, r.answer FROM repeated_request r
WHERE r.caller = @caller::bigint AND r.key = @key::text

-- name: endRequest
UPDATE repeated_request SET status = @status::int, answer = @answer::bytea
WHERE number = @number::bigint

-- name: releaseRequest
DELETE FROM repeated_request WHERE number = @number::bigint

-- name: trimRequests
-- Some of the oldest: those that count no longer, and those beyond @rows.
DELETE FROM repeated_request WHERE number IN (
    SELECT number FROM repeated_request
    WHERE number <= (SELECT max(number) FROM repeated_request) - @rows::bigint
       OR begun_at < now() - make_interval(hours => @hours::int)
    ORDER BY number LIMIT @limit::int
)

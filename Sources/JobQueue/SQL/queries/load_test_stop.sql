-- $1 test; $2 code and $3 message where nobody asked for it.
UPDATE load_test SET state = 'stopping', stopped_at = clock_timestamp(), failure_code = $2, failure_message = $3
WHERE id = $1::uuid AND state IN ({{loadTestStoppable}})

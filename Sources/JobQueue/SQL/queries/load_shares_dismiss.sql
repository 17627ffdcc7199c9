-- $1 test. It begins, or ends, without those that are not part of it.
UPDATE load_share SET state = 'dismissed'
WHERE test_id = $1::uuid AND state IN ({{loadShareDismissible}})

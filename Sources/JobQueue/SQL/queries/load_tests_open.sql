-- Tests that have not ended, in the order in which they are locked.
SELECT id FROM load_test WHERE state <> 'ended' ORDER BY id

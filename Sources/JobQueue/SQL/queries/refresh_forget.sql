-- $1 asset. What an earlier try of its refresh handed in.
DELETE FROM refreshed_file WHERE asset_id = $1::bigint

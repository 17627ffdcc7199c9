-- Named with other sidecars since its last start, which leaves its own segments as they are.
ALTER TABLE asset ADD COLUMN sidecars_changed boolean NOT NULL DEFAULT false;

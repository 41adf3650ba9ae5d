-- A JSON object: what the runner needs to continue the session.
ALTER TABLE session RENAME COLUMN kept TO runner_state;

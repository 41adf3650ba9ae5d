-- The id of the session that this one goes on with, in hexadecimal digits; NULL if it goes on with none.
ALTER TABLE session ADD COLUMN continues TEXT;

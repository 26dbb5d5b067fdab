-- The file on a server that a signal was fetched from, empty for signals over HTTP. A file is stored once, also if the server
-- stops before it has removed the file.
ALTER TABLE signals ADD COLUMN source TEXT COLLATE "C";

-- Updates: copies, what things were made from, and what worked last.

-- Which one it is of all that had the name: the mark of a successor in the cloud differs from that of its predecessor.
ALTER TABLE resources ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0 CHECK (incarnation >= 0);

-- JSON: values of the properties that mention other resources, when it was made or last changed. Never secret.
ALTER TABLE resources ADD COLUMN made_from TEXT;

-- What the last run that ended well was given: a roll-back leads back to it. NULL until one has.
ALTER TABLE deployments ADD COLUMN good TEXT;

-- Whether a run leads back to it.
ALTER TABLE runs ADD COLUMN rolls_back INTEGER NOT NULL DEFAULT 0 CHECK (rolls_back IN (0, 1));

-- What a change compares and takes away, by resource.

-- JSON: keyed digests of the hidden parameters' values that it was made with or last changed to, by parameter. NULL: not known.
ALTER TABLE resources ADD COLUMN made_with TEXT;

-- JSON: what changes that did not end may have put into it, by property. NULL: nothing beside what its description says. Never secret.
ALTER TABLE resources ADD COLUMN tried TEXT;

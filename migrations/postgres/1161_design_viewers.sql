-- People who have a design open: a row for each page in a browser. A page renews its row while it is visible.
CREATE TABLE design_viewers (
    design   TEXT COLLATE "C" NOT NULL REFERENCES designs (id) ON DELETE CASCADE,
    page     TEXT COLLATE "C" NOT NULL,  -- random, made by the page
    user_id  TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,  -- of the user
    selected TEXT COLLATE "C" NOT NULL,  -- names of the selected resources, a JSON list
    seen     BIGINT NOT NULL,  -- of the last renewal, in seconds since 1970
    PRIMARY KEY (design, page)
);

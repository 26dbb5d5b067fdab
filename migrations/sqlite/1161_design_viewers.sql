-- People who have a design open: a row for each page in a browser. A page renews its row while it is visible.
CREATE TABLE design_viewers (
    design   TEXT   NOT NULL REFERENCES designs (id) ON DELETE CASCADE,
    page     TEXT   NOT NULL,  -- random, made by the page
    user_id  TEXT   NOT NULL,
    name     TEXT   NOT NULL,  -- of the user
    selected TEXT   NOT NULL,  -- names of the selected resources, a JSON list
    seen     BIGINT NOT NULL,  -- of the last renewal, in seconds since 1970
    PRIMARY KEY (design, page)
);

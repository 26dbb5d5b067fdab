-- The size of a design's kept versions, for the limit of its project.
ALTER TABLE designs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;

UPDATE designs SET bytes = (
    SELECT COALESCE(SUM(octet_length(template) + octet_length(beside) + octet_length(layout)), 0)
    FROM design_versions WHERE design_versions.design = designs.id
);

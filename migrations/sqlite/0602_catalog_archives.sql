-- The uploaded archive (tar.gz), from which each server makes its folder of the item. NULL: uploaded when only one server had it.
ALTER TABLE catalog_items ADD COLUMN archive BLOB;

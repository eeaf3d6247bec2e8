INSERT INTO repository (repository_name, image_tag_mutability, scan_on_push) VALUES ('harbour/stow', 'MUTABLE', true);

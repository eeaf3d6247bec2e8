-- A repository whose tags cannot be moved.
INSERT INTO repository (repository_name, image_tag_mutability) VALUES ('example/app', 'IMMUTABLE');
SELECT iasql_wait_for_all(60);
UPDATE repository SET scan_on_push = true WHERE repository_name = 'example/app';
SELECT iasql_wait_for_all(60);
SELECT repository_name, image_tag_mutability, scan_on_push, repository_uri IS NOT NULL AS created FROM repository;
DELETE FROM repository WHERE repository_name = 'example/app';
SELECT iasql_wait_for_all(60);
-- In AWS, which has what the emulator has not, a public one is made likewise:
-- INSERT INTO public_repository (repository_name, description, operating_systems) VALUES ('example/app', 'An example', '{Linux}');

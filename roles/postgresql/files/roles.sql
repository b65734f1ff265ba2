-- Whether the roles may sign in and nothing else, each has what the one before it has, and the databases are the owner's.
SELECT
  (SELECT count(*) = cardinality(string_to_array(%(roles)s, ',')) FROM pg_roles
   WHERE rolname = ANY(string_to_array(%(roles)s, ',')) AND rolcanlogin AND NOT (rolsuper OR rolcreaterole OR rolcreatedb)) AS has_roles,
  (SELECT count(DISTINCT (has.rolname, role.rolname)) = 2 FROM pg_auth_members
   JOIN pg_roles AS has ON has.oid = roleid JOIN pg_roles AS role ON role.oid = member
   WHERE (role.rolname, has.rolname) IN ((%(sealer)s, %(services)s), (%(owner)s, %(sealer)s))) AS has_memberships,
  (SELECT count(*) = cardinality(string_to_array(%(databases)s, ',')) FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba
   WHERE datname = ANY(string_to_array(%(databases)s, ',')) AND rolname = %(owner)s) AS has_databases

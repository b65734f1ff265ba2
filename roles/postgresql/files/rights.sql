-- How many tables are the services' own, and whether the owner may make something in the schema and not everybody.
SELECT
  (SELECT count(*) FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner WHERE rolname = %(services)s) AS tables,
  coalesce(bool_or(grantee = (SELECT oid FROM pg_roles WHERE rolname = %(owner)s)) AND NOT bool_or(grantee = 0), false) AS is_closed
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
WHERE nspname = 'public' AND privilege_type = 'CREATE'

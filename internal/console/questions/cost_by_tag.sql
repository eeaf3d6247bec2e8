-- What does each value of a tag cost a month?
-- By price lists and bills that were imported; unknown says of how many records nothing is known.
-- asks: key = team
SELECT c.value, c.monthly, c.currency, c.records, c.unknown
FROM iasql_tag_costs c
WHERE c.key = :'key'
ORDER BY c.monthly DESC NULLS LAST, c.value;

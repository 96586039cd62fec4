-- What DuckDB is told. Names of columns stand in braces, values after a dollar sign.

-- begin: who a person is, as `clean_name` says it; the number of each spelling, as Python found it
SET VARIABLE blanks = $blanks;

-- begin
SET VARIABLE salt = $salt;

-- begin
SET VARIABLE missing = $missing;

-- begin
CREATE MACRO clean(x) AS CASE
    WHEN strlen(x) = length(x) AND x > '!' AND reverse(x) > '!' THEN x
    ELSE nullif(trim(nfc_normalize(x), getvariable('blanks')), '')
END;

-- begin
CREATE MACRO known(x) AS CASE
    WHEN NOT list_contains(getvariable('missing'), clean(x)) THEN clean(x)
END;

-- begin
CREATE TABLE spelled (raw VARCHAR, number SMALLINT, winner BOOLEAN);

-- begin
CREATE TABLE people (name VARCHAR);

-- begin
CREATE TABLE answers (person UBIGINT, first SMALLINT, second SMALLINT, winner SMALLINT);

-- text: rows of all columns; only a column that is not there is NULL
(SELECT * FROM read_csv($path, columns = $columns, skip = 1, header = false,
    auto_detect = false, ignore_errors = true, quote = '', escape = '', null_padding = true,
    nullstr = $nothing, buffer_size = 4194304, delim = $separator, compression = $packed)
WHERE {last} IS NOT NULL AND more IS NULL)

-- parquet
read_parquet($path, binary_as_string = true)

-- rows
SELECT * FROM {source}

-- spell
INSERT INTO spelled SELECT unnest($raw), unnest($number), $winner

-- unknown: spellings of items, or of winners, that Python has not seen
SELECT DISTINCT raw FROM (SELECT unnest([{one}, {other}]) AS raw FROM {source})
WHERE raw NOT IN (SELECT raw FROM spelled WHERE winner = $winner)

-- load: people by a hash whose salt nobody keeps, cells by their numbers
INSERT INTO answers SELECT
    CASE WHEN {anybody} THEN hash(random())
        WHEN known(p) IS NOT NULL THEN hash(getvariable('salt') || known(p)) END,
    one.number, two.number, three.number
FROM (SELECT {person} AS p, {first} AS f, {second} AS s, {winner} AS w FROM {source})
LEFT JOIN (FROM spelled WHERE NOT winner) AS one ON one.raw = f
LEFT JOIN (FROM spelled WHERE NOT winner) AS two ON two.raw = s
LEFT JOIN (FROM spelled WHERE winner) AS three ON three.raw = w

-- odd: rows with a spelling that is not known
SELECT count(*) FROM answers WHERE first IS NULL OR second IS NULL OR winner IS NULL

-- size
SELECT count(*) FROM answers

-- again
DELETE FROM answers

-- meet
INSERT INTO people SELECT DISTINCT known({person}) FROM {source}

-- everybody
SELECT DISTINCT name FROM people WHERE name IS NOT NULL

-- collisions: different people with one hash
SELECT count(*) - count(DISTINCT hash(getvariable('salt') || name))
FROM (SELECT DISTINCT name FROM people WHERE name IS NOT NULL)

-- part: those whose hash is in a range
SELECT person, coalesce(first, -1) AS first, coalesce(second, -1) AS second,
    coalesce(winner, -1) AS winner
FROM answers WHERE person BETWEEN $low AND $high

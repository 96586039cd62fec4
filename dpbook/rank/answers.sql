-- What DuckDB is told. Names of columns stand in braces, values after a dollar sign.

-- begin: who a person is, as `clean_name` says it; the number of each spelling, as Python found it
CREATE MACRO clean(x) AS CASE
    WHEN strlen(x) = length(x) AND x > '!' AND reverse(x) > '!' THEN x
    ELSE nullif(trim(nfc_normalize(x), getvariable('known').blanks), '')
END;
CREATE MACRO who(x) AS CASE
    WHEN NOT list_contains(getvariable('known').missing, clean(x)) THEN clean(x)
END;
CREATE MACRO salted(name) AS CASE
    WHEN name IS NOT NULL THEN hash(getvariable('known').salt || name)
END;
CREATE TABLE spelled (raw VARCHAR, number SMALLINT);
CREATE TABLE answers (person UBIGINT, first SMALLINT, second SMALLINT, winner SMALLINT);

-- known
SET VARIABLE known = {'blanks': $blanks, 'salt': $salt, 'missing': $missing}

-- text: rows of all columns; only a column that is not there is NULL
(SELECT * FROM read_csv($path, columns = $columns, skip = 1, header = false,
    auto_detect = false, ignore_errors = true, quote = '', escape = '', null_padding = true,
    nullstr = $nothing, buffer_size = 4194304, delim = $separator, compression = $packed)
WHERE {last} IS NOT NULL AND more IS NULL)

-- parquet
read_parquet($path, binary_as_string = true)

-- rows
SELECT * FROM {source}

-- count
SELECT count(*) FROM {source}

-- spell
INSERT INTO spelled SELECT unnest($raw), unnest($number)

-- unknown: spellings that Python has not seen
SELECT DISTINCT raw FROM (SELECT unnest([{first}, {second}, {winner}]) AS raw FROM {source})
WHERE raw NOT IN (SELECT raw FROM spelled)

-- load: people by a hash whose salt nobody keeps, cells by their numbers
INSERT INTO answers SELECT
    CASE WHEN {anybody} THEN hash(random()) ELSE salted(who(p)) END,
    one.number, two.number, three.number
FROM (SELECT {person} AS p, {first} AS f, {second} AS s, {winner} AS w FROM {source})
LEFT JOIN spelled AS one ON one.raw = f
LEFT JOIN spelled AS two ON two.raw = s
LEFT JOIN spelled AS three ON three.raw = w

-- odd: rows with a spelling that is not known
SELECT count(*) FROM answers WHERE first IS NULL OR second IS NULL OR winner IS NULL

-- again
DELETE FROM answers

-- people
SELECT name, salted(name) FROM (SELECT DISTINCT who({person}) AS name FROM {source})
WHERE name IS NOT NULL

-- part: those whose hash is in a range
SELECT person, coalesce(first, -1) AS first, coalesce(second, -1) AS second,
    coalesce(winner, -1) AS winner
FROM answers WHERE person BETWEEN $low AND $high

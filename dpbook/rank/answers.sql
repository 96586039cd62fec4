-- What DuckDB is told. Names of columns stand in braces, values after a dollar sign.

-- begin: who a person is, as `clean_name` says it; what cells mean, as Python found it
CREATE MACRO clean(x) AS CASE
    WHEN strlen(x) = length(x) AND x > '!' AND reverse(x) > '!' THEN x
    ELSE nullif(trim(nfc_normalize(x), getvariable('people').blanks), '')
END;
CREATE MACRO who(x) AS CASE
    WHEN NOT list_contains(getvariable('people').missing, clean(x)) THEN clean(x)
END;
CREATE MACRO salted(name) AS CASE
    WHEN name IS NOT NULL THEN hash(getvariable('people').salt || name)
END;
CREATE TABLE known (f VARCHAR, s VARCHAR, w VARCHAR, first SMALLINT, second SMALLINT, tied SMALLINT);
CREATE TABLE answers (person UBIGINT, first SMALLINT, second SMALLINT, tied SMALLINT);

-- people
SET VARIABLE people = {'blanks': $blanks, 'salt': $salt, 'missing': $missing}

-- text: rows of all columns; only a column that is not there is NULL
(SELECT * FROM read_csv($path, columns = $columns, skip = 1, header = false,
    auto_detect = false, ignore_errors = true, quote = '', escape = '', null_padding = true,
    nullstr = $nothing, buffer_size = 4194304, delim = $separator, compression = $packed)
WHERE {last} IS NOT NULL AND more IS NULL)

-- parquet
read_parquet($path, binary_as_string = true)

-- rows
SELECT * FROM {source}

-- names
SELECT DISTINCT unnest([{first}, {second}]) FROM {source}

-- cells
SELECT DISTINCT {first}, {second}, {winner} FROM {source}

-- known
INSERT INTO known SELECT
    unnest($f), unnest($s), unnest($w), unnest($first), unnest($second), unnest($tied)

-- load: people by a hash whose salt nobody keeps, cells by what they mean
INSERT INTO answers SELECT
    CASE WHEN {anybody} THEN hash(random()) ELSE salted(who(p)) END AS person, first, second, tied
FROM (SELECT {person} AS p, {first} AS f, {second} AS s, {winner} AS w FROM {source})
JOIN known USING (f, s, w)

-- part: those whose hash is in a range
SELECT person, first, second, tied FROM answers WHERE person BETWEEN $low AND $high

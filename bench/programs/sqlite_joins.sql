-- Loads two tables in memory, indexes them, joins and groups them, then throws half away.
-- Usage: sqlite3 [-cmd ".parameter set @purchases N"] :memory: ".read sqlite_joins.sql"      default: 300000
-- Every value comes from the row's number: the same work in every run.
-- A change of temp_store drops the parameters: with one, give "PRAGMA temp_store = MEMORY" by -cmd before it.
PRAGMA temp_store = MEMORY;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER, note TEXT);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO customer SELECT i, 'customer ' || i, 'city ' || (i * 7919 % 500) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < coalesce(@purchases, 300000))
INSERT INTO purchase
SELECT i, i * 104729 % 40000 + 1, i * 31 % 1000, 'note on purchase ' || (i * 17 % 1009) FROM n;
CREATE INDEX purchase_customer ON purchase(customer);
CREATE INDEX customer_city ON customer(city);

SELECT count(*), sum(total) FROM (
  SELECT city, sum(amount) AS total FROM customer JOIN purchase ON purchase.customer = customer.id
  GROUP BY city ORDER BY total DESC);
SELECT count(*) FROM (
  SELECT a.id FROM purchase AS a JOIN purchase AS b ON a.customer = b.customer AND a.id < b.id
  WHERE a.amount = b.amount);
SELECT count(*), max(length(notes)) FROM (
  SELECT customer, group_concat(note, ', ') AS notes FROM purchase GROUP BY customer);

DELETE FROM purchase WHERE id % 2 = 0;
SELECT count(*), sum(length(note)) FROM purchase ORDER BY 1;

"""The benchmark runner: measures, keeps raw rows as CSV, and makes tables and charts of them."""

DROP TABLE load_interval;
DROP TABLE load_share;
DROP TABLE load_test;

DROP TABLE worker_minute;

DROP TABLE job, lease, worker, assembly, result, segment, asset, directory, catalog, origin, queue,
    site;

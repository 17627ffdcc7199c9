extension FailureCode {
    /// 5xx: storage at the site; from 516 to 525, in S3 buckets.
    static let storageRows: [FailureRow] = [
        row(
            500, .storageFull, .siteFault,
            "Free space at the site; jobs then resume by themselves."),
        row(501, .storageReadOnly, .siteFault, "Make the site's file system writable again."),
        row(
            502, .storageIO, .siteFault, "The site's disk reports errors; check the system's log."),
        row(503, .storagePermission, .never, "Grant the worker's user write access to the site."),
        row(
            504, .storagePathConflict, .never,
            "Two URLs have the same file name, or one's file is another's directory; "
                + "keep one. Put URLs that differ only in tokens into one list, or use the "
                + "name of the catalog in the message."),
        row(
            505, .storagePathRefused, .never,
            "The path is not allowed at the site; check the URL, or the symlink in the "
                + "message."),
        row(
            506, .storageUnreachable, .never, "The worker does not support this kind of storage."),
        row(
            507, .storageQuota, .siteFault,
            "Raise the quota with dray site set --quota, or remove files."),
        row(
            508, .storageSyncFailed, .siteFault,
            "The disk lost written data; it is fetched again. Check the system's log."),
        row(
            509, .storageNoRoom, .waitsForSpace,
            "Free space at the site, or raise its quota; the file waits, and others continue."),
        row(
            510, .storageOutgrown, .waitsForSpace,
            "A file of unknown length did not fit at the site; free space."),
        row(
            511, .storageTooLarge, .never,
            "The file is larger than the site's file system, a limit of the process, or S3 (5 TiB) "
                + "allows."),
        row(
            512, .storageOutsideRoots, .never,
            "Store beneath a root of the workers, or start a worker with --root of that directory."),
        row(
            513, .storageForeignDirectory, .siteFault,
            "Change the owner of the site's .dray to the worker's user and its mode to "
                + "0700."),
        row(
            514, .storageOtherVolume, .siteFault,
            "Mount the site's file system. To use the present file system from now on, "
                + "run dray site set SITE --accept-volume, or dray prefetch with "
                + "--accept-volume."),
        row(
            515, .storageSitePermission, .siteFault,
            "Change the owner of the directory in the message to the worker's user, or "
                + "run the worker as its owner."),
        row(
            516, .storageCredentials, .siteFault,
            "Give the worker credentials that the S3 server accepts: AWS_ACCESS_KEY_ID and "
                + "AWS_SECRET_ACCESS_KEY, a profile, a web identity or an instance role."),
        row(
            517, .storageAccessDenied, .siteFault,
            "Allow the worker's credentials to put, get, list and delete objects below the prefix; "
                + "`dray doctor --site URL` names what is missing."),
        row(518, .storageNoBucket, .siteFault, "Create the bucket, or correct the site's URL."),
        row(
            519, .storageOtherRegion, .siteFault,
            "Set region=NAME in the site's URL to the bucket's region."),
        row(
            520, .storageClockSkew, .siteFault,
            "Set the clock of the worker's host; S3 rejects requests that are 15 minutes off."),
        row(
            521, .storageNotS3, .siteFault,
            "Correct endpoint=URL in the site's URL: what answers there is not S3."),
        row(
            522, .storageSlowDown, .siteFault,
            "The S3 server limits requests; jobs resume by themselves. Lower the workers' "
                + "connections if it stays."),
        row(
            523, .storageUnavailable, .siteFault,
            "Check that the S3 endpoint is up and can be reached from the worker."),
        row(
            524, .storageRefused, .never,
            "The S3 server rejects the request; its own code is in the message."),
        row(
            525, .storageBadDigest, .attempts(4),
            "Bytes were damaged on their way to the S3 server; they are sent again."),
        row(
            526, .storageDamaged, .never,
            "An audit found the stored file missing or damaged; it is fetched again. If that "
                + "repeats, check the disk and who else writes to the site."),
        row(
            527, .storageSharedDirectory, .siteFault,
            "Use one site for a directory: give one of the two another directory, or cancel and forget its "
                + "catalogs (`dray catalog cancel`, `dray catalog forget`)."),
    ]
}

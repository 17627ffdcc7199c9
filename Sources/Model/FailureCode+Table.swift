extension FailureCode {
    static let unknownRow = FailureRow(
        number: 999, code: "internal.unknown", retry: .attempts(5),
        hint: "A code from another version of Dray; upgrade so that all processes agree.")

    static let rowByName: [String: FailureRow] = Dictionary(
        uniqueKeysWithValues: table.map { ($0.code.rawValue, $0) })

    /// The code for an HTTP status from an origin: its own row where there is one, else its class.
    package static func origin(httpStatus status: Int) -> FailureCode {
        let exact = FailureCode("origin.http.\(status)")
        if rowByName[exact.rawValue] != nil { return exact }
        return status >= 500 ? "origin.http.5xx" : "origin.http.4xx"
    }

    /// The origin, or the way to it, is at fault, and not what was asked of it: what counts towards
    /// its breaker.
    package var speaksAgainstOrigin: Bool {
        switch rawValue {
        case "origin.dns", "origin.connect", "origin.timeout", "origin.reset", "origin.http.408",
            "origin.http.425", "origin.http.429":
            true
        // The rows of the statuses 500 and above.
        default: (270...297).contains(row.number) || row.number == 299
        }
    }

    /// What CDNs and object stores answer to a URL whose signature has expired, to others as well.
    package var mayBeExpiredSignature: Bool {
        ["origin.http.400", "origin.http.401", "origin.http.403", "origin.http.410"]
            .contains(rawValue)
    }

    /// The origin promises ranges and serves none, or others: its file is to be fetched in one.
    package var speaksAgainstRanges: Bool {
        ["origin.rangeIgnored", "origin.rangeMismatch"].contains(rawValue)
    }

    /// Every failure code there is, in the order of their numbers.
    package static let table: [FailureRow] = [
        // 1xx: what the caller gave.
        row(100, "input.usage", .never, "Run the command with --help for what it takes."),
        row(101, "input.unreadable", .never, "Check that the file exists and can be read."),
        row(
            102, "input.malformed", .never,
            "Correct the input at the line or field that the message names."),
        row(103, "input.empty", .never, "Name at least one asset."),
        row(104, "input.duplicate", .never, "Give assets names, and files keys, of their own."),
        row(105, "input.url", .never, "Use an http or https URL without control characters."),
        row(106, "input.field", .never, "Give the field a value in the range that is named."),
        row(107, "input.tooLarge", .never, "Make the input smaller; the limit is in the message."),
        row(
            108, "input.destination", .never,
            "Name a destination that can be written and is not in use."),
        row(
            110, "input.notFound", .never,
            "Check the name or number: `dray status` lists them, with --state DIR those of a private cluster."
        ),
        row(111, "input.method", .never, "Use one of the methods that the answer allows."),
        row(112, "input.draining", .never, "Wait for `dray queue resume`, or use another site."),
        row(
            113, "input.target", .never,
            "Correct the target; nothing was sent. `dray inspect` lists what a title has."),
        row(
            114, "input.ambiguous", .never, "Say which one is meant: name its site, or its number."),
        row(
            115, "input.loadTestRunning", .never,
            "Wait for the other load test to end; GET /v1/load-tests lists them."),
        row(118, "input.timeout", .never, "Send all of a request within seconds of its beginning."),
        row(
            119, "input.token", .never,
            "Make a token with `openssl rand -hex 32`, in a file that only its owner can read."),
        row(
            120, "input.role", .never,
            "Correct the role's name, or make the role first: CREATE ROLE … LOGIN."),
        row(
            121, "input.manifest", .never,
            "Fetch a title by its URL, `dray prefetch URL --to DEST`; `dray inspect` shows what it lists."
        ),
        // 2xx: the origin and the way to it.
        row(200, "origin.dns", .attempts(5), "Check the host name and the resolver."),
        row(201, "origin.connect", .attempts(5), "Check that the origin is up and can be reached."),
        row(202, "origin.tls", .never, "Check the origin's certificate and its chain."),
        row(203, "origin.timeout", .attempts(5), "The origin was too slow; look at its load."),
        row(204, "origin.reset", .attempts(5), "The connection broke; look at the origin's logs."),
        row(205, "origin.truncated", .attempts(5), "The body ended before its stated length."),
        row(206, "origin.protocol", .attempts(3), "The answer was not valid HTTP."),
        row(207, "origin.redirectLimit", .never, "More than 5 redirects; use the final URL."),
        row(208, "origin.redirectRefused", .never, "A redirect must lead to http or https."),
        row(209, "origin.tooLarge", .never, "The body is larger than the limit for its role."),
        row(
            210, "origin.addressDenied", .never,
            "Allow the block that the message names with --allow-addresses, in a cluster on each `dray worker`."
        ),
        row(
            211, "origin.encoding", .never, "The origin compressed a body that was asked for plain."
        ),
        row(
            212, "origin.limited", .attempts(8),
            "A redirect led to an origin whose limits are used up; raise them or wait."),
        row(
            213, "origin.rangeIgnored", .attempts(4),
            "The origin promises ranges and serves none; the file is fetched in one."),
        row(
            214, "origin.rangeMismatch", .attempts(4),
            "The origin serves another range than is asked for; the file is fetched in one."),
        row(
            215, "origin.redirected", .never,
            "A load test follows no redirects; give the URL that the redirect leads to."),
        row(
            216, "origin.addressForbidden", .never,
            "Use an address of the origin that routers forward; this one is never requested."),
        row(
            217, "origin.signatureExpired", .attempts(6),
            "A title's manifest is read again for fresh URLs. Where its own URL, or a file's, has expired, "
                + "submit the list again with fresh ones; what is stored stays."),
        row(
            218, "origin.addressBlocked", .never,
            "Remove the block that the message names from --deny-addresses or DRAY_DENY_ADDRESSES, "
                + "in a cluster on each `dray worker`."),
        row(
            219, "origin.addressNotOfTarget", .never,
            "Check the host's DNS: since the test's preflight it leads from a private address to a public one "
                + "or back, or out of the blocks of \"allow\". Run the test again."),
        row(240, "origin.http.400", .never, "The origin refuses the request; check the URL."),
        row(241, "origin.http.401", .never, "The origin wants credentials."),
        row(242, "origin.http.403", .never, "The origin refuses; a signed URL may have run out."),
        row(244, "origin.http.404", .never, "The origin has no such object; check the URL."),
        row(
            248, "origin.http.408", .attempts(5), "The origin timed out waiting; look at its load."),
        row(250, "origin.http.410", .never, "The object was removed at the origin."),
        row(256, "origin.http.416", .attempts(3), "The origin's object is shorter than expected."),
        row(265, "origin.http.425", .attempts(5), "The origin asked to try later."),
        row(269, "origin.http.429", .attempts(8), "The origin limits requests; lower the rate."),
        row(270, "origin.http.500", .attempts(5), "The origin failed; look at its logs."),
        row(272, "origin.http.502", .attempts(5), "A gateway before the origin failed."),
        row(273, "origin.http.503", .attempts(8), "The origin is overloaded or in maintenance."),
        row(274, "origin.http.504", .attempts(5), "A gateway before the origin timed out."),
        row(282, "origin.http.522", .attempts(5), "The CDN could not connect to its origin."),
        row(284, "origin.http.524", .attempts(5), "The CDN's origin timed out."),
        row(298, "origin.http.4xx", .never, "The origin refuses the request."),
        row(299, "origin.http.5xx", .attempts(5), "The origin failed; look at its logs."),
        // 3xx: what came is not what was wanted.
        row(300, "content.unexpectedType", .never, "An HTML page came where media was wanted."),
        row(301, "content.changed", .attempts(4), "The object changed while it was fetched."),
        row(
            302, "content.lengthMismatch", .attempts(2), "The length is not the list's; check both."
        ),
        row(
            303, "content.unplayable", .never,
            "All bytes are the origin's, and ffprobe finds nothing to play; look at it there."),
        row(
            310, "integrity.digestMismatch", .attempts(2),
            "The bytes are not the list's; check both."),
        row(
            311, "integrity.assemblyMismatch", .attempts(3),
            "Ranges of a file did not fit together."),
        // 4xx: manifests.
        row(400, "manifest.html", .never, "The URL answers with a web page, not a manifest."),
        row(401, "manifest.empty", .never, "The manifest lists no segment."),
        row(402, "manifest.malformed", .never, "Correct the manifest at the line that is named."),
        row(
            403, "manifest.live", .never,
            "The title is live; wait for its end, or give --live snapshot."),
        row(404, "manifest.tooLarge", .never, "The manifest is larger than Dray reads."),
        row(
            405, "manifest.tooMany", .never, "The manifest lists more than Dray takes of one title."
        ),
        row(
            406, "manifest.uriRefused", .never, "The manifest names something that is not http(s)."),
        row(
            407, "manifest.changed", .attempts(3),
            "The title changed at the origin; run it again to read the new manifest."),
        row(408, "manifest.unsupported", .never, "This kind of manifest is not supported."),
        row(
            409, "manifest.noTrack", .never,
            "Choose among the tracks that the message lists, or leave the choice out."),
        row(
            410, "manifest.notManifest", .never,
            "Use `dray fetch URL` for one file; in a list, give the asset the kind file."),
        // 5xx: storage at the site.
        row(
            500, "storage.full", .siteFault,
            "Free space at the site; the work then resumes by itself."),
        row(501, "storage.readOnly", .siteFault, "Make the site's file system writable again."),
        row(502, "storage.io", .siteFault, "The site's disk reports errors; look at its log."),
        row(503, "storage.permission", .never, "Let the worker's user write to the site."),
        row(
            504, "storage.pathConflict", .never,
            "Two URLs are stored under one name, or one's file is another's folder; keep one. "
                + "Those that differ in tokens go into one list, or under the name of the catalog that the message names."
        ),
        row(
            505, "storage.pathRefused", .never,
            "The site cannot have that path; check the URL, or the symlink that the message names."),
        row(506, "storage.unreachable", .never, "The worker does not know this kind of storage."),
        row(
            507, "storage.quota", .siteFault,
            "Raise the quota with dray site set --quota, or remove what is not needed."),
        row(
            508, "storage.syncFailed", .siteFault,
            "The disk dropped what was written; it is fetched again. Look at the system's log."),
        row(
            509, "storage.noRoom", .waitsForRoom,
            "Free space at the site, or raise its quota; the file waits, and others continue."),
        row(
            510, "storage.outgrown", .waitsForRoom,
            "A file of unknown length was more than the site has room for; free space."),
        row(
            511, "storage.tooLarge", .never,
            "The file is larger than the site's file system, or a limit of the process, allows."),
        row(
            512, "storage.outsideRoots", .never,
            "Store beneath a root of the workers, or start a worker with --root of that directory."),
        row(
            513, "storage.foreignDirectory", .siteFault,
            "Give the site's .dray to the worker's user with mode 0700, as the message says."),
        row(
            514, "storage.otherVolume", .siteFault,
            "Mount the site's file system. To use what is there from now on, run dray site set SITE "
                + "--accept-volume, or dray prefetch with --accept-volume."),
        row(
            515, "storage.sitePermission", .siteFault,
            "Give the directory that the message names to that user, or run the worker as the directory's owner."
        ),
        // 6xx: the worker and its lease.
        row(600, "worker.lost", .attempts(5), "The worker vanished while it held the job."),
        row(601, "worker.cancelled", .never, "The work was cancelled."),
        row(602, "worker.internal", .attempts(3), "A bug in Dray; please report it."),
        row(603, "worker.leaseLost", .never, "The lease ran out; what it held is done by another."),
        row(
            604, "worker.poison", .never,
            "Workers died with it; look at what its URL serves. `dray catalog retry` tries it alone."
        ),
        // 7xx: the cluster.
        row(
            700, "cluster.coordinatorUnreachable", .attempts(5),
            "Start the coordinator, or set DRAY_COORDINATOR to the URL of one that runs."),
        row(
            701, "cluster.databaseUnreachable", .attempts(5),
            "Check that PostgreSQL is up and has that database."),
        row(702, "cluster.schemaNewer", .never, "The database is newer; upgrade this binary."),
        row(
            704, "cluster.unauthorized", .never,
            "Set DRAY_TOKEN_FILE to a file with the cluster's token, or DRAY_TOKEN to the token."),
        row(
            706, "cluster.portInUse", .never, "Another process listens there; choose another port."),
        row(
            707, "cluster.stateInUse", .never,
            "Wait for its end, choose another --state or, if it is `dray up`, use it: set the variables that it printed."
        ),
        row(
            708, "cluster.postgresFailed", .never,
            "Follow the message; the server log that it names has details."),
        row(
            709, "cluster.protocol", .never,
            "Check that a coordinator of this version answers at that URL."),
        row(710, "cluster.busy", .attempts(5), "The coordinator is at its limit; try again."),
        row(
            711, "cluster.noWork", .never,
            "No worker can get work; see the logs of the coordinators. Run it again to follow it."),
        row(
            712, "cluster.fewWorkers", .never,
            "Start more workers, wait for them longer, or give fewer with --at-least."),
        row(
            713, "cluster.abandoned", .never,
            "Nobody followed the load test any more, and it was stopped; run it again."),
        row(
            714, "cluster.schemaOwner", .never,
            "Run `dray database migrate` as the schema's owner, with --grant ROLE for this one."),
        row(
            715, "cluster.databasePrivilege", .never,
            "Run `dray database migrate --grant ROLE` as the schema's owner, ROLE being this one."),
        row(
            716, "cluster.foreignCoordinator", .attempts(5),
            "If it is your coordinator, set DRAY_COORDINATOR_USER to its user; else use another port."
        ),
        row(
            717, "cluster.schemaUnreleased", .never,
            "Drop that schema, or use another database; of a private cluster, remove its --state directory. Then submit catalogs again: stored files are checked and kept."
        ),
        row(
            718, "cluster.schemaEdited", .never,
            "Use the release that made the database, or one after it; a released migration never changes."
        ),
    ]

    private static func row(
        _ number: Int, _ code: FailureCode, _ retry: FailureRow.Retry, _ hint: String
    ) -> FailureRow {
        FailureRow(number: number, code: code, retry: retry, hint: hint)
    }
}

extension FailureCode: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { rawValue = value }
}

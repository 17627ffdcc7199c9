extension FailureCode {
    static let unknownRow = FailureRow(
        number: 999, code: .internalUnknown, retry: .attempts(5),
        hint: "A code from another version of Dray; upgrade so that all processes agree.")

    static let rowByName: [String: FailureRow] = Dictionary(
        uniqueKeysWithValues: table.map { ($0.code.rawValue, $0) })

    /// Returns the code for an origin's HTTP status: its own row if there is one, else its class.
    package static func origin(httpStatus status: Int) -> FailureCode {
        let exact = FailureCode("origin.http.\(status)")
        if rowByName[exact.rawValue] != nil { return exact }
        return status >= 500 ? .originHTTP5xx : .originHTTP4xx
    }

    /// True if the origin or the network failed rather than the request; such failures count
    /// towards the circuit breaker.
    package var countsAgainstOrigin: Bool {
        switch self {
        case .originDNS, .originConnect, .originTimeout, .originReset, .originHTTP408,
            .originHTTP425, .originHTTP429:
            true
        // The rows of the statuses 500 and above.
        default: (270...297).contains(row.number) || row.number == 299
        }
    }

    /// True if CDNs and object stores use the status for a URL with an expired signature, among
    /// other reasons.
    package var mayBeExpiredSignature: Bool {
        [.originHTTP400, .originHTTP401, .originHTTP403, .originHTTP410]
            .contains(self)
    }

    /// True if another origin may succeed: the bytes or the network were at fault.
    package var mayBeOriginsAlone: Bool { ["origin", "content", "integrity"].contains(family) }

    /// True if the origin announces ranges but serves none, or others: its file must be fetched as
    /// a whole.
    package var countsAgainstRanges: Bool {
        [.originRangeIgnored, .originRangeMismatch].contains(self)
    }

    /// All failure codes, in the order of their numbers.
    package static let table: [FailureRow] = (commonRows + storageRows).sorted {
        $0.number < $1.number
    }

    private static let commonRows: [FailureRow] = [
        // 1xx: input of the caller.
        row(
            100, .inputUsage, .never,
            "Run the command with --help to see its arguments and options."),
        row(101, .inputUnreadable, .never, "Check that the file exists and can be read."),
        row(
            102, .inputMalformed, .never,
            "Correct the input at the line or field that the message names."),
        row(103, .inputEmpty, .never, "Add at least one asset."),
        row(
            104, .inputDuplicate, .never,
            "Use a different name for each asset and a different key for each file."),
        row(105, .inputURL, .never, "Use an http or https URL without control characters."),
        row(
            106, .inputField, .never,
            "Change the field, or what it names, to what the message allows."),
        row(107, .inputTooLarge, .never, "Reduce the input to the limit in the message."),
        row(
            108, .inputDestination, .never,
            "Use a directory or a bucket that is writable and not in use."),
        row(
            110, .inputNotFound, .never,
            "Check the name or number with the command that lists such things, such as `dray catalog list`."
        ),
        row(111, .inputMethod, .never, "Use one of the methods that the answer allows."),
        row(112, .inputDraining, .never, "Wait for `dray queue resume`, or use another site."),
        row(
            113, .inputTarget, .never,
            "Correct the target; no load was sent. `dray inspect` lists the contents of "
                + "a title."),
        row(
            114, .inputAmbiguous, .never, "Add the site, or use the number."),
        row(
            115, .inputLoadTestRunning, .never,
            "Wait for the other load test to end; `dray status` lists those that run."),
        row(
            116, .inputAuditRunning, .never,
            "Wait for the other audit to end, or cancel it: `dray audit list` shows it."),
        row(118, .inputTimeout, .never, "Send the whole request within seconds."),
        row(
            119, .inputToken, .never,
            "Create a token with `openssl rand -hex 32`, in a file that only its owner "
                + "can read."),
        row(
            120, .inputRole, .never,
            "Correct the role's name, or create the role first: CREATE ROLE … LOGIN."),
        row(
            121, .inputManifest, .never,
            "Fetch a title by its URL, `dray prefetch URL --to DEST`; `dray inspect` shows what it lists."
        ),
        row(
            122, .inputKeyReused, .never,
            "Send the same request with this Idempotency-Key, or use another key."),
        row(
            123, .inputAlreadyCreated, .never,
            "An earlier request with this Idempotency-Key created it, and its secret is not kept: "
                + "revoke it, then create another with another key."),
        row(
            124, .inputNameInUse, .never,
            "Use another name, or revoke the token that has it: `dray token revoke NAME`."),
        row(
            125, .inputRights, .never,
            "Correct the fields that the message names: they contradict each other."),
        row(
            126, .inputExpired, .never,
            "The rights of the asset have expired; submit it with a later `expiresAt`."),
        row(
            127, .inputCacheSite, .never,
            "The site is a cache: it has no files of Dray's to audit, adopt, refresh, remove or limit. "
                + "Submit the list again to request every object again."),
        row(
            128, .rightsMaxFetches, .never,
            "Retry the asset once an earlier fetch is longer ago than the period, or raise maxFetches."
        ),
        row(
            129, .rightsMaxSites, .never,
            "Remove the title from another site, then retry the asset; or raise maxSites."),
        row(
            130, .inputListShrunk, .never,
            "Nothing was changed. If the list is right, raise `dray source set --max-drop`, or "
                + "submit it with `dray prefetch`."),
        row(
            131, .inputLoadFixed, .never,
            "Change the load while the test sends it; `dray status` lists the tests of a cluster. A "
                + "replay, --search and --scale set their own load."),
        // 2xx: the origin and the network.
        row(200, .originDNS, .attempts(5), "Check the host name and the resolver."),
        row(201, .originConnect, .attempts(5), "Check that the origin is up and can be reached."),
        row(202, .originTLS, .never, "Check the origin's certificate and its chain."),
        row(203, .originTimeout, .attempts(5), "The origin was too slow; check its load."),
        row(
            204, .originReset, .attempts(5), "The connection was reset; check the origin's logs."),
        row(205, .originTruncated, .attempts(5), "The body ended before its declared length."),
        row(206, .originProtocol, .attempts(3), "The answer was not valid HTTP."),
        row(207, .originRedirectLimit, .never, "Too many redirects; use the final URL."),
        row(208, .originRedirectRefused, .never, "A redirect must lead to http or https."),
        row(209, .originTooLarge, .never, "The body is larger than the limit for its role."),
        row(
            210, .originAddressDenied, .never,
            "Allow the address block in the message with --allow-addresses: in a cluster on each "
                + "`dray worker`, for a webhook on each `dray coordinator`."),
        row(
            211, .originEncoding, .never,
            "The origin compressed a body that was requested uncompressed."),
        row(
            212, .originLimited, .attempts(8),
            "A redirect led to an origin whose limits are used up; raise them or wait."),
        row(
            213, .originRangeIgnored, .attempts(4),
            "The origin announces ranges but does not serve them; a file in parts is fetched as "
                + "a whole."),
        row(
            214, .originRangeMismatch, .attempts(4),
            "The origin serves a different range than requested; a file in parts is fetched as "
                + "a whole."),
        row(
            215, .originRedirected, .never,
            "Use the URL that the redirect leads to; or let the test follow redirects, as viewers "
                + "do, with \"http\": {\"maxRedirects\": 10}."),
        row(
            216, .originAddressForbidden, .never,
            "Use a routable address of the origin or webhook; this one is always rejected."),
        row(
            217, .originSignatureExpired, .attempts(6),
            "A title's manifest is read again for fresh URLs. If the URL of a manifest "
                + "or a file has expired, submit the list again with fresh URLs; stored files "
                + "stay."),
        row(
            218, .originAddressBlocked, .never,
            "Remove the block that the message names from --deny-addresses or DRAY_DENY_ADDRESSES: "
                + "in a cluster on each `dray worker`, for a webhook on each `dray coordinator`."),
        row(
            219, .originAddressNotOfTarget, .never,
            "Check the host's DNS: since the test's preflight it has changed from a private address "
                + "to a public one or back, or to one outside the blocks of \"allow\". A host that a "
                + "redirect or a steering server names while the test runs must be in \"allow\"."
        ),
        row(
            220, .originRedirectLoop, .never,
            "Redirects lead back to a URL that redirected before; correct them at the origin."),
        row(240, .originHTTP400, .never, "The origin rejects the request; check the URL."),
        row(
            241, .originHTTP401, .never,
            "The origin requires credentials; see --origin-settings."),
        row(
            242, .originHTTP403, .never,
            "The origin rejects the request; a signed URL may have expired."),
        row(244, .originHTTP404, .never, "The origin has no such object; check the URL."),
        row(
            248, .originHTTP408, .attempts(5), "The origin timed out; check its load."),
        row(250, .originHTTP410, .never, "The object was removed at the origin."),
        row(256, .originHTTP416, .attempts(3), "The origin's object is shorter than expected."),
        row(265, .originHTTP425, .attempts(5), "The origin asked to retry later."),
        row(
            269, .originHTTP429, .attempts(8),
            "The origin limits requests; lower the rate with `dray origins set`."),
        row(270, .originHTTP500, .attempts(5), "The origin failed; check its logs."),
        row(272, .originHTTP502, .attempts(5), "A gateway before the origin failed."),
        row(273, .originHTTP503, .attempts(8), "The origin is overloaded or in maintenance."),
        row(274, .originHTTP504, .attempts(5), "A gateway before the origin timed out."),
        row(282, .originHTTP522, .attempts(5), "The CDN could not connect to its origin."),
        row(284, .originHTTP524, .attempts(5), "The CDN's origin timed out."),
        row(298, .originHTTP4xx, .never, "The origin rejects the request."),
        row(299, .originHTTP5xx, .attempts(5), "The origin failed; check its logs."),
        // 3xx: content that differs from the expected one.
        row(
            300, .contentUnexpectedType, .never,
            "The origin returned an HTML page instead of media."),
        row(301, .contentChanged, .attempts(4), "The object changed while it was fetched."),
        row(
            302, .contentLengthMismatch, .attempts(2),
            "The length differs from the list's; check both."),
        row(
            304, .contentNotCached, .never,
            "The cache did not serve the object from its storage, though it had been requested "
                + "before; the message has the header fields that show why."),
        row(
            305, .contentEvicted, .never,
            "The cache had stored the object and no longer has it: it was evicted, purged or has "
                + "expired."),
        row(
            306, .contentDiffers, .never,
            "POPs served different bytes of one URL; purge it at the POPs, or check Vary and what "
                + "the origin serves to each."),
        row(
            303, .contentUnplayable, .never,
            "ffprobe cannot play the file, although its bytes match the origin's; check "
                + "it at the origin."),
        row(
            310, .integrityDigestMismatch, .attempts(2),
            "The digest differs from the list's; check both."),
        row(
            311, .integrityMultipartMismatch, .attempts(3),
            "Ranges of a file did not fit together."),
        // 4xx: manifests.
        row(400, .manifestHTML, .never, "The URL returns a web page, not a manifest."),
        row(401, .manifestEmpty, .never, "The manifest lists no segment."),
        row(402, .manifestMalformed, .never, "Correct the manifest at the line in the message."),
        row(
            403, .manifestLive, .never,
            "The title is live; use --live record or snapshot, or wait for its end."),
        row(404, .manifestTooLarge, .never, "The manifest exceeds the size limit."),
        row(
            405, .manifestTooMany, .never, "The manifest exceeds the limits of one title."),
        row(
            406, .manifestURIRefused, .never, "The manifest names something that is not http(s)."),
        row(
            407, .manifestChanged, .attempts(3),
            "The title changed at the origin; run the command again to read the new "
                + "manifest."),
        row(408, .manifestUnsupported, .never, "This kind of manifest is not supported."),
        row(
            409, .manifestNoTrack, .never,
            "Choose from the tracks in the message, or omit the option."),
        row(
            410, .manifestNotManifest, .never,
            "Use `dray fetch URL` for one file; in a list, set the asset's kind to file."),
        row(
            411, .manifestOtherHost, .never,
            "The manifest names an object at another host than the cache's, so viewers do not "
                + "request it there; correct the manifest, or warm that host as a site of its own."),
        // 6xx: the worker and its lease.
        row(600, .workerLost, .attempts(5), "The worker stopped while it held the job."),
        row(601, .workerCancelled, .never, "The work was cancelled."),
        row(602, .workerInternal, .attempts(3), "A bug in Dray; please report it."),
        row(603, .workerLeaseLost, .never, "The lease expired; another worker does its jobs."),
        row(
            604, .workerPoison, .never,
            "Workers crashed on this job; check what its URL serves. `dray catalog "
                + "retry` runs it alone."),
        // 7xx: the cluster.
        row(
            700, .clusterCoordinatorUnreachable, .attempts(5),
            "Start the coordinator, or set DRAY_COORDINATOR to the URL of a running one."),
        row(
            701, .clusterDatabaseUnreachable, .attempts(5),
            "Check that PostgreSQL is up and has that database."),
        row(702, .clusterSchemaNewer, .never, "The database is newer; upgrade this binary."),
        row(
            704, .clusterUnauthorized, .never,
            "Set DRAY_TOKEN_FILE to a file with the cluster's token, or DRAY_TOKEN to the token."),
        row(
            706, .clusterPortInUse, .never, "Another process listens there; choose another port."),
        row(
            707, .clusterStateInUse, .never,
            "Wait until it ends, choose another --state or, if it is `dray up`, use it: "
                + "set the variables that it printed."),
        row(
            708, .clusterPostgresFailed, .never,
            "See the message; the server log in it has details."),
        row(
            709, .clusterProtocol, .never,
            "Check that a coordinator of this version answers at that URL."),
        row(710, .clusterBusy, .attempts(5), "The coordinator is at its limit; try again."),
        row(
            711, .clusterNoWork, .never,
            "No worker can lease jobs; check the logs of the coordinators. Run the "
                + "command again to resume."),
        row(
            712, .clusterFewWorkers, .never,
            "Start more workers, wait for them longer, or lower --at-least."),
        row(
            713, .clusterAbandoned, .never,
            "The load test was stopped because no client followed it; run it again."),
        row(
            714, .clusterSchemaOwner, .never,
            "Run `dray database migrate` as the schema's owner, with --grant ROLE for "
                + "this role."),
        row(
            715, .clusterDatabasePrivilege, .never,
            "Run `dray database migrate --grant ROLE` as the schema's owner, with this "
                + "role as ROLE."),
        row(
            716, .clusterForeignCoordinator, .attempts(5),
            "If it is your coordinator, set DRAY_COORDINATOR_USER to its user; else use another port."
        ),
        row(
            717, .clusterSchemaUnreleased, .never,
            "Drop the schema or use another database; for a private cluster, remove its state directory. "
                + "Then submit the catalogs again: their files are fetched again."),
        row(
            718, .clusterSchemaEdited, .never,
            "Use the build that created the database. To start over, remove the state directory of a "
                + "private cluster, or drop the schema. Then submit the catalogs again: their files are "
                + "fetched again."),
        row(
            719, .clusterJobUnreadable, .attempts(5),
            "Run the same release on all coordinators. If somebody edited the database, submit the "
                + "catalog again, which restores the field in the message; then run `dray catalog retry`."
        ),
        row(
            720, .clusterUntrustedCertificate, .attempts(5),
            "Set --ca-file or DRAY_CA_FILE to the certificate of the authority that issued "
                + "the coordinator's."),
        row(
            721, .clusterCertificateName, .attempts(5),
            "Use a name in DRAY_COORDINATOR that the coordinator's certificate has, or issue "
                + "a certificate with this one."),
        row(
            722, .clusterCertificateExpired, .attempts(5),
            "Renew the coordinator's certificate; check the clock of this machine."),
        row(
            723, .clusterClientCertificate, .attempts(5),
            "Set --client-certificate and --client-key to a pair that an authority of the "
                + "coordinator's --tls-client-ca issued."),
        row(
            724, .clusterNotTLS, .attempts(5),
            "Use an http URL in DRAY_COORDINATOR, or start the coordinator with "
                + "--tls-certificate."),
        row(725, .clusterTLSRequired, .never, "Use an https URL in DRAY_COORDINATOR."),
        row(
            726, .clusterForbidden, .never,
            "Ask an administrator for a token of a role that the message names, which "
                + "`dray token create --role ROLE` makes."),
        row(
            727, .clusterOutOfScope, .never,
            "Ask an administrator for a token that is bound to this queue or site too, or to none; "
                + "the message names what this one is bound to."),
        row(
            728, .clusterEventsGone, .never,
            "Read the present state (`dray status`, `dray catalog show`), and continue from now: "
                + "without a cursor, or with --since."),
        row(
            729, .clusterSlowReader, .attempts(5),
            "Connect again with the last id, which `dray watch` does automatically."),
        row(
            730, .clusterTooManyStreams, .attempts(5),
            "Close unused streams, connect to another coordinator, or start more coordinators."),
        row(
            731, .clusterDatabaseCertificate, .attempts(5),
            "Set sslrootcert in the database's URL to the authority that issued its certificate, and "
                + "the URL's host to a name of the certificate."),
        row(
            732, .clusterRateLimited, .attempts(5),
            "Send fewer requests; the answer's Retry-After gives the time of the next accepted request. "
                + "`dray coordinator --max-requests` sets the limit."),
        row(
            733, .clusterRequestRunning, .attempts(5),
            "Wait: the first request with this Idempotency-Key is not answered yet."),
        row(
            734, .clusterDeliveryExpired, .never,
            "Repair the webhook's receiver, which did not take the event in seven days; then "
                + "`dray webhook redeliver`."),
    ]

    static func row(
        _ number: Int, _ code: FailureCode, _ retry: FailureRow.Retry, _ hint: String
    ) -> FailureRow {
        FailureRow(number: number, code: code, retry: retry, hint: hint)
    }
}

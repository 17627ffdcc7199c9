package import Curl
package import Digest
package import Model
package import Storage

/// A request to fetch, hash and write one object, or one byte range of it.
package struct TransferRequest: Sendable {
    /// http or https.
    package var url: String
    package var owner: Owner
    package var delivery: Delivery
    package var access = Access()
    package var role: SegmentRole
    /// The requested bytes; nil for the whole object.
    package var range: ByteRange?
    package var expected: Expectation
    /// Validator of the stored bytes. If the origin confirms it, the transfer sends no body and
    /// succeeds with `Fetched.isUnchanged`. It is also sent after redirects.
    package var validator: String?
    /// True to ask for the object's length and date alone, by HEAD. The transfer then opens no
    /// destination and succeeds with `Fetched.described`.
    package var isHead = false
    /// True if a web page is never the requested object, whatever the URL's extension.
    package var isManifest = false

    package init(url: String, group: String, destination: Destination, role: SegmentRole) {
        self.url = url
        owner = Owner(group: group)
        delivery = Delivery(destination: destination)
        self.role = role
        expected = Expectation(maximumBytes: role.maximumBytes)
    }

    /// Those for whom the object is fetched.
    package struct Owner: Sendable {
        /// Group by which transfers are cancelled together: the lease.
        package var group: String
        /// The transfer's job, by which it can also be cancelled.
        package var job: JobID?
        /// Site whose bandwidth its bytes use; nil for none.
        package var site: SiteID?
    }

    /// Where the body goes, and in how many pieces.
    package struct Delivery: Sendable {
        package var destination: Destination
        /// True if a thread that may block opens the object, even for few bytes.
        package var opensInBackground = false
        /// Rules for resuming an interrupted body; nil to disable.
        package var resumption: Resumption?
        /// Rule for splitting a whole object; nil to fetch it over one connection.
        package var split: SplitRule?
    }

    /// Limits and additions of the HTTP requests.
    package struct Access: Sendable {
        /// "Name: value" lines in addition to those of every request. They are for the URL's origin
        /// alone: a redirect to another one drops them.
        package var headers: [String] = []
        /// Timeouts that replace the origin's; nil to use those.
        package var ownTimeouts: TransferTimeouts?
        /// The same timeouts; setting one of them sets all.
        package var timeouts: TransferTimeouts {
            get { ownTimeouts ?? TransferTimeouts() }
            set { ownTimeouts = newValue }
        }
        /// False if a redirect is a failure: `origin.redirected`.
        package var followsRedirects = true
        /// Host that the request is for, with its port, when the URL names a POP of a cache by its
        /// address: Host, SNI and the certificate are those of this host. The result then has
        /// `Fetched.Response.cache`.
        package var edge: String?
        /// Restricts the addresses that the engine's policy admits; nil for no restriction. Called
        /// on a loop, inside libcurl.
        package var admitsAddress: (@Sendable (PeerAddress) -> Bool)?
    }

    /// Expected properties of the object.
    package struct Expectation: Sendable {
        /// The whole object's length, if the list states it.
        package var bytes: Int64?
        /// The digest of the requested bytes, 64 hex digits, if one is stated.
        package var sha256: String?
        /// Digests of the whole object by further algorithms.
        package var furtherDigests: [ExpectedDigest] = []
        /// Maximum length, beyond which a body fails with `origin.tooLarge`; initially the maximum
        /// of its role.
        package var maximumBytes: Int64

        /// All stated digests of the whole object.
        var digests: [ExpectedDigest] {
            guard let digest = sha256.flatMap({ ExpectedDigest(.sha256, hex: $0) }) else {
                return furtherDigests
            }
            return [digest] + furtherDigests
        }
    }

    /// The rule by which a whole object is split into parts, and by whom.
    package struct SplitRule: Sendable {
        /// Length in bytes above which an object is split, and of its first part.
        package var partBytes: Int64
        /// Length in bytes of the largest object that is split.
        package var maximumBytes: Int64
        /// Rate in bytes per second from which one connection fetches a large object alone, judged
        /// by its first quarter second. Infinite to split in any case, as soon as the body has a
        /// destination.
        package var belowBytesPerSecond: Double
        /// Called once, on a loop, when an object is split. The transfer then ends with the first
        /// `partBytes` bytes only, and `isFirstPart` in its result. Must not block.
        ///
        /// If bytes were written before this decision, it receives their object, and returns the
        /// one for the rest of the first part.
        package var begin: @Sendable (LargeObject, PendingObject?) throws(Failure) -> PendingObject?

        package init(
            partBytes: Int64, maximumBytes: Int64 = .max, belowBytesPerSecond: Double = .infinity,
            begin:
                @escaping @Sendable (LargeObject, PendingObject?) throws(Failure) -> PendingObject?
        ) {
            self.partBytes = partBytes
            self.maximumBytes = maximumBytes
            self.belowBytesPerSecond = belowBytesPerSecond
            self.begin = begin
        }
    }

    /// The destination of the bytes.
    package enum Destination: Sendable {
        /// An object of the site's storage. It is opened when the first byte arrives, with the
        /// number of bytes if known, and returned in the result for `commit`. Opened on a loop for
        /// few bytes, else by a thread that may block (see `Delivery.opensInBackground`). Bytes are written at
        /// their offset in the whole file, unless `ByteRange.isAlone`.
        case object(open: @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject)
        /// Memory; `expected.maximumBytes` should be small.
        case memory
        /// A sink that the caller opens, and also closes, however the transfer ended. Called like
        /// `open` of an object; several parts of one object may use the same sink.
        case sink(open: @Sendable (_ bytes: Int64?) throws(Failure) -> any TransferSink)
    }

    /// Bytes of an object with a possibly known total.
    package struct ByteRange: Sendable, Hashable {
        package var offset: Int64
        /// At least 1.
        package var length: Int64
        /// The whole object's length; a response with another one is of a changed object.
        package var totalBytes: Int64?
        /// The strong ETag or the Last-Modified date that the object must still have; nil for an
        /// object that may grow.
        package var validator: String?
        /// True if the destination is for these bytes alone, so that they begin at its offset 0.
        package var isAlone = false

        package init(
            offset: Int64, length: Int64, totalBytes: Int64? = nil, validator: String? = nil
        ) {
            self.offset = offset
            self.length = length
            self.totalBytes = totalBytes
            self.validator = validator
        }
    }
}

/// A destination for bytes outside the sites' storage.
package protocol TransferSink: Sendable {
    /// Writes bytes of the body at their offset in the whole object, on a loop. It may block, which
    /// delays the loop's other transfers; that time does not count as the origin's.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure)
}

/// An object that is worth fetching in parts.
package struct LargeObject: Sendable, Hashable {
    package var totalBytes: Int64
    /// The strong ETag or Last-Modified date that all parts must have in common.
    package var validator: String
    /// Digests that the origin states of the whole, compared once all parts are stored.
    package var stated: [ExpectedDigest]

    package init(totalBytes: Int64, validator: String, stated: [ExpectedDigest] = []) {
        self.totalBytes = totalBytes
        self.validator = validator
        self.stated = stated
    }
}

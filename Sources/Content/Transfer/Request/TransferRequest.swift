package import Curl
package import Digest
package import Model
package import Storage

/// One object, or one byte range of one, to be fetched, hashed and written.
package struct TransferRequest: Sendable {
    /// http or https.
    package var url: String
    /// What the transfer is cancelled by together with others: the lease.
    package var group: String
    /// The job that it is for, which it can be cancelled by as well.
    package var job: JobID?
    /// Whose bandwidth its bytes count against; nil for none.
    package var site: SiteID?
    package var destination: Destination
    /// An object is opened by a thread that may block, however few bytes are to come.
    package var opensAside = false
    package var role: SegmentRole
    /// The bytes asked for; nil for the whole object.
    package var range: ByteRange?
    /// The whole object's length, where the list promises one.
    package var expectedBytes: Int64?
    /// The digest of what is asked for, 64 hex digits, where one is promised.
    package var expectedSHA256: String?
    /// Digests of the whole object by further algorithms.
    package var furtherDigests: [ExpectedDigest] = []
    /// What the origin called the bytes that are stored: where it still calls them so, nothing comes, and
    /// the transfer ends well with `Fetched.isUnchanged`. Asked of every place that redirects lead to.
    package var validator: String?
    /// How a body that breaks off is gone on with; nil for not at all.
    package var resumption: Resumption?
    /// A body beyond it fails with `origin.tooLarge`; to begin with the most of its role.
    package var maximumBytes: Int64
    /// A web page is never what was asked for, whatever the URL ends in.
    package var isManifest = false
    /// In place of the origin's own; nil for those.
    package var ownTimeouts: TransferTimeouts?
    /// The same: to set one of them is to set all.
    package var timeouts: TransferTimeouts {
        get { ownTimeouts ?? TransferTimeouts() }
        set { ownTimeouts = newValue }
    }
    /// Splits a whole object that turns out longer than this, in bytes; see `onLarge`.
    package var splitAbove: Int64?
    /// Called once, on a loop, when an object is to be split: the transfer then ends with the first
    /// `splitAbove` bytes only, and `isFirstPart` in its result. Must not block.
    ///
    /// When bytes have been written before that was decided, it gets the object they went to, and
    /// answers with the one that the rest of the first part goes to.
    package var onLarge:
        (@Sendable (LargeObject, PendingObject?) throws(Failure) -> PendingObject?)?
    /// A connection that is this fast or faster, in bytes a second, fetches a large object alone:
    /// judged by its first quarter second. Infinite to split in any case, with the header, as soon as
    /// the body has a place.
    package var splitBelowBytesPerSecond = Double.infinity
    /// "Name: value" lines beyond those that every request has. They are for the URL's origin alone:
    /// a redirect to another one drops them.
    package var headers: [String] = []
    /// False where what answers with a redirect is not what was asked for: `origin.redirected`.
    package var followsRedirects = true
    /// What it may connect to of what the engine's policy admits; nil for all of it. Called on a loop, from
    /// inside libcurl.
    package var admitsAddress: (@Sendable (PeerAddress) -> Bool)?

    package init(url: String, group: String, destination: Destination, role: SegmentRole) {
        self.url = url
        self.group = group
        self.destination = destination
        self.role = role
        maximumBytes = role.maximumBytes
    }

    /// All that is promised of the whole object.
    var expectedDigests: [ExpectedDigest] {
        guard let digest = expectedSHA256.flatMap({ ExpectedDigest(.sha256, hex: $0) }) else {
            return furtherDigests
        }
        return [digest] + furtherDigests
    }

    /// Where the bytes go.
    package enum Destination: Sendable {
        /// Into an object of the site's storage at their offset in the whole file; opened when the first
        /// byte arrives, with the number of bytes to come where it is known; handed back in the result
        /// for `commit`. Opened on a loop where few bytes are to come, else by a thread that may block
        /// (see `opensAside`).
        case object(open: @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject)
        /// Into memory; `maximumBytes` should be small.
        case memory
        /// Into what the caller has opened, which it ends itself, however the transfer ended. Called
        /// like `open` of an object; several parts of one object may share a sink.
        case sink(open: @Sendable (_ bytes: Int64?) throws(Failure) -> any TransferSink)
    }

    /// Bytes of an object that may be known already.
    package struct ByteRange: Sendable, Hashable {
        package var offset: Int64
        /// At least 1.
        package var length: Int64
        /// The whole object's length; an answer that says otherwise is of a changed object.
        package var totalBytes: Int64?
        /// The strong ETag or the Last-Modified date that the object must still have.
        package var validator: String?

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

/// A place for bytes that is no site's storage.
package protocol TransferSink: Sendable {
    /// Takes bytes of the body at their offset in the whole object, on a loop. May block, which holds
    /// up the loop's other transfers: time spent so is not counted as the origin's.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure)
}

/// An object that is worth fetching in parts.
package struct LargeObject: Sendable, Hashable {
    package var totalBytes: Int64
    /// The strong ETag or Last-Modified date that all parts must share.
    package var validator: String
    /// What the origin says of the whole, to be compared when its parts are there.
    package var stated: [ExpectedDigest]

    package init(totalBytes: Int64, validator: String, stated: [ExpectedDigest] = []) {
        self.totalBytes = totalBytes
        self.validator = validator
        self.stated = stated
    }
}

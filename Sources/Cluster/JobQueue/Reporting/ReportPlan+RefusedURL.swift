import Model

/// Decides on a job whose signed URL was rejected, as one that has expired is.
extension ReportPlan {
    struct Rejection {
        var asset: Int64
        /// Digest of the URL that the job has by now.
        var urlDigest: String
        /// A manifest lists it, so that it can have a fresh URL.
        var isListed: Bool
        /// Its URL was read from its manifest only just, and does not say that it has expired.
        var isFresh: Bool
        /// The time of its URL's expiry, as the URL states it.
        var expiry: Expiry
        /// Its URL has a token that may choose what is served, and that no rule leaves out of keys.
        var hasToken: Bool
        /// Its asset's manifest is being read again.
        var isRenewing: Bool
        /// The number of renewals in a row without a segment stored since.
        var renewals: Int
        /// The number of its stored segments, and whether that differs from the number when it was
        /// last queued.
        var stored: Int64
        var hasStored: Bool

        /// Says what a submitter does who gets the rejection.
        var advice: String {
            hasToken
                ? expiry.advice + "; stored files are fetched again unless keyQuery of the "
                    + "origin's settings leaves out its token and its end" : expiry.advice
        }

        enum Expiry: Equatable {
            case unknown
            /// The time, for example `2026-11-27T05:12:00Z`.
            case passed(String)
            case ahead(String)

            fileprivate var advice: String {
                switch self {
                case .unknown: "its URL is signed: submit the list again with a fresh one"
                case .passed(let time):
                    "its URL expired at \(time): submit the list again with a fresh one, under the same "
                        + "catalog name"
                case .ahead(let time):
                    "its URL is signed and expires at \(time): the origin rejects it for another reason, "
                        + "such as a wrong signature or another address; submit the list again with a "
                        + "fresh one"
                }
            }
        }

        enum Decision: Equatable {
            /// Ends as any other failure.
            case end
            /// It has a fresh URL by now.
            case again
            /// Only its submitter can give it a fresh URL.
            case submitAgain
            /// It waits for its manifest to be read, which is queued unless it is under way.
            ///
            /// - Parameter renewals: how often in a row it is then without a segment stored since; nil where it is
            ///   under way.
            case await(renewals: Int?)
        }

        static var maxAttempts: Int {
            guard case .attempts(let most) = FailureCode.originSignatureExpired.row.retry else {
                return 1
            }
            return most
        }
        static let maxRenewals = 3

        func isPrevious(_ digest: String?) -> Bool { digest.map { $0 != urlDigest } ?? false }

        /// - Parameter isRenewing: this report has had the manifest queued.
        func decision(isOfPreviousURL: Bool, isTriedOut: Bool, isRenewing: Bool) -> Decision {
            if isTriedOut { return .end }
            if isOfPreviousURL { return .again }
            guard isListed else { return .submitAgain }
            // It has not expired: the origin rejects it for another reason.
            guard !isFresh else { return .end }
            if self.isRenewing || isRenewing { return .await(renewals: nil) }
            if hasStored { return .await(renewals: 1) }
            return renewals < Self.maxRenewals ? .await(renewals: renewals + 1) : .end
        }
    }

    /// Assets whose manifests are to be read for fresh URLs: parallel columns, an asset once.
    struct Renewals {
        private(set) var assets: [Int64] = []
        private(set) var counts: [Int64] = []
        private(set) var stored: [Int64] = []

        var isEmpty: Bool { assets.isEmpty }

        func contains(_ asset: Int64) -> Bool { assets.contains(asset) }

        mutating func add(_ rejection: Rejection, _ count: Int) {
            assets.append(rejection.asset)
            counts.append(Int64(count))
            stored.append(rejection.stored)
        }
    }
}

import API
import Model

/// The rows of a plan, as the statements take them.
extension ReportPlan {
    /// Fetches that ended: parallel columns for one statement.
    struct Settled {
        var lanes: [Int64] = []
        var jobs: [Int64] = []
        var done: [Bool] = []
        var bytes: [Int64?] = []
        var digests: [String?] = []
        var reused: [Bool] = []
        var codes: [String?] = []
        var messages: [String?] = []
        var verified: [Bool] = []
        var validators: [String?] = []

        /// Adds a fetch that is done, or has failed for good.
        mutating func add(
            _ job: HeldJob, stored: StoredObject? = nil, reused: Bool = false,
            verified: Bool = false, validator: String? = nil, failure: Failure? = nil
        ) {
            lanes.append(job.lane)
            jobs.append(job.id.rawValue)
            done.append(stored != nil)
            bytes.append(stored?.bytes)
            digests.append(stored?.sha256)
            self.reused.append(reused)
            self.verified.append(verified)
            validators.append(validator)
            codes.append(failure?.code.rawValue)
            messages.append(failure?.message)
        }
    }

    /// Jobs to be tried again: parallel columns for one statement.
    struct Retried {
        var lanes: [Int64] = []
        var jobs: [Int64] = []
        var seconds: [Double] = []
        /// The tries that count so far.
        var attempts: [Int64] = []
        /// True for a retry, false for a job given back untouched.
        var counts: [Bool] = []
        /// Codes of what they wait for, besides time.
        var codes: [String?] = []
        var messages: [String?] = []
        /// True for those that wait for the end of their own origin's cooldown.
        var awaitOwnOrigins: [Bool] = []
        /// True for jobs that are tried alone from now on.
        var isolate: [Bool] = []
        /// Codes of their failures; nil for jobs that did not fail, and where `codes` has it.
        var reasons: [String?] = []
        /// Codes of the answers to those that wait for a fresh URL.
        var refusedCodes: [String?] = []
        var refusedMessages: [String?] = []

        mutating func add(
            _ job: Int64, of lane: Int64, seconds: Double, attempts: Int64, counts: Bool = true,
            waitingFor failure: Failure? = nil, awaitsOwnOrigin: Bool = false,
            isolates: Bool = false, because reason: FailureCode? = nil,
            awaitsURL refused: Failure? = nil
        ) {
            reasons.append(reason?.rawValue)
            refusedCodes.append(refused?.code.rawValue)
            refusedMessages.append(refused?.message)
            isolate.append(isolates)
            awaitOwnOrigins.append(awaitsOwnOrigin)
            lanes.append(lane)
            jobs.append(job)
            self.seconds.append(seconds)
            self.attempts.append(max(attempts, 0))
            self.counts.append(counts)
            codes.append(failure?.code.rawValue)
            messages.append(failure?.message)
        }
    }

    /// Successes and failures of origins: parallel columns. An origin is that of a lane, or has a name when it is
    /// another one.
    struct OriginRows {
        var lanes: [Int64] = []
        var names: [String?] = []
        /// failures and cooldowns: why.
        var codes: [String?] = []
        /// cooldowns: for how long.
        var seconds: [Double] = []

        mutating func add(
            _ lane: Int64, _ name: String?, code: FailureCode? = nil, seconds: Double = 0
        ) {
            lanes.append(lane)
            names.append(name)
            codes.append(code?.rawValue)
            self.seconds.append(seconds)
        }
    }

    /// Results by the origin that they count for.
    struct Origins {
        /// They served something.
        var well = OriginRows()
        /// Their failures count against them.
        var failed = OriginRows()
        /// They requested a cooldown.
        var cooldowns = OriginRows()

        var isEmpty: Bool {
            well.lanes.isEmpty && failed.lanes.isEmpty && cooldowns.lanes.isEmpty
        }

        /// - Parameter name: nil for the lane's own origin.
        mutating func failed(
            _ lane: Int64, _ name: String?, _ code: FailureCode, retryAfter: Double?
        ) {
            if let retryAfter, retryAfter > 0 {
                cooldowns.add(lane, name, code: code, seconds: min(retryAfter, 3_600))
            }
            if code.countsAgainstOrigin { failed.add(lane, name, code: code) }
        }
    }

    /// Sites that cannot be written, by a lane of each: parallel columns, a lane once.
    struct SiteFailures {
        var lanes: [Int64] = []
        var codes: [String?] = []
        var messages: [String?] = []

        mutating func add(_ lane: Int64, _ failure: Failure) {
            guard !lanes.contains(lane) else { return }
            lanes.append(lane)
            codes.append(failure.code.rawValue)
            messages.append(failure.message)
        }
    }

    /// Directories whose checksum file is written or has failed: parallel columns.
    struct Checksums {
        var lanes: [Int64] = []
        var jobs: [Int64] = []
        var failed: [Int64] = []
        /// Written bytes; nil for none.
        var bytes: [Int64?] = []
        var digests: [String?] = []

        mutating func add(_ job: HeldJob, _ written: StoredObject? = nil, failed: Bool = false) {
            lanes.append(job.lane)
            jobs.append(job.id.rawValue)
            self.failed.append(failed ? 1 : 0)
            bytes.append(written?.bytes)
            digests.append(written?.sha256)
        }
    }

    /// Jobs by their lanes and numbers: parallel columns.
    struct HeldJobs {
        var lanes: [Int64] = []
        var jobs: [Int64] = []

        mutating func add(_ job: HeldJob) {
            lanes.append(job.lane)
            jobs.append(job.id.rawValue)
        }
    }

    /// Assets whose responses say for how long they are fresh: parallel columns.
    struct RefreshTimes {
        var assets: [Int64] = []
        var seconds: [Int64] = []

        mutating func add(_ job: HeldJob, fresh: Int) {
            assets.append(job.asset)
            seconds.append(RefreshTime.seconds(ofFresh: fresh))
        }
    }

    /// Refreshes that ended, and their publications: parallel columns, and what is to be done before for those that
    /// found something.
    struct Refreshes {
        var lanes: [Int64] = []
        var jobs: [Int64] = []
        var outcomes: [RefreshOutcome] = []
        var codes: [String?] = []
        var messages: [String?] = []
        /// - segments: of a title that lists others than before.
        var found: [(job: HeldJob, segments: Int?)] = []

        mutating func add(
            _ job: HeldJob, _ outcome: RefreshOutcome, segments: Int? = nil,
            failure: Failure? = nil
        ) {
            lanes.append(job.lane)
            jobs.append(job.id.rawValue)
            outcomes.append(outcome)
            codes.append(failure?.code.rawValue)
            messages.append(failure?.message)
            // One that is unchanged may be called otherwise by now.
            if outcome != .failed { found.append((job, segments)) }
        }
    }
}

import Model
import Storage
import Transfer

/// Builds the transfer engine's requests for fetches: destination, expected bytes and splitting.
struct FetchRequests: Sendable {
    /// Bytes per second above which one connection fetches a large file without splitting it.
    let splitBelowBytesPerSecond: Double
    let held: HeldWork
    let splitter: Splitter
    let partials: PartialBodies

    /// - Parameter validator: validator of the stored file; a transfer fetches only a different
    ///   one.
    func request(
        for work: Assignment, _ split: Split, _ course: MirrorPlan, from partial: PartialBody?,
        unless validator: String?
    ) -> TransferRequest {
        let job = work.job
        var request = request(for: work, split)
        request.url = course.url
        request.validator = validator
        // Parts are requested at the job's own URL, where a mirror's validator is invalid. A list's
        // file keeps its mirrors instead of parts. A title's file may be many gigabytes, which take
        // one connection hours.
        if !course.isAtMain || course.hasMirrors && (job.role ?? .file) == .file {
            request.splitAbove = nil
        }
        request.resumption = partials.resumption(of: work, split, from: partial)
        if let partial {
            // A response with the rest of a body opens no object, and so does not report its
            // length.
            let whole = job.assembly == nil ? partial.record.totalBytes : job.length
            held.setExpected(whole, of: work.leased)
            if job.assembly == nil { held.setBegun(partial.record.totalBytes, of: work.leased) }
        }
        return request
    }

    private func request(for work: Assignment, _ split: Split) -> TransferRequest {
        let job = work.job
        let destination = TransferRequest.Destination.object { (bytes) throws(Failure) in
            self.held.setExpected(bytes, of: work.leased)
            // A file in parts takes all of its space at once, in the code that splits it.
            if job.assembly == nil, split.assembly == nil {
                self.held.setBegun(bytes, of: work.leased)
            }
            do throws(Failure) {
                return try Self.object(of: work, bytes, split)
            } catch {
                self.held.setBegun(0, of: work.leased)
                throw error
            }
        }
        var request = TransferRequest(
            url: job.url, group: work.lease, destination: destination, role: job.role ?? .file)
        request.job = job.id
        request.site = job.site
        request.isManifest = job.role == .playlist
        request.opensInBackground = work.storage.isOnNetwork
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            request.range = TransferRequest.ByteRange(
                offset: offset, length: length, totalBytes: assembly.totalBytes,
                validator: assembly.validator)
        } else {
            request.expectedBytes = job.length
            request.expectedSHA256 = job.sha256
            request.furtherDigests = job.furtherDigests
            request.splitAbove = job.isWhole == true ? nil : split.partBytes
            request.splitBelowBytesPerSecond = splitBelowBytesPerSecond
            request.onLarge = { (large, object) throws(Failure) in
                try self.splitter.begin(split, of: work, large, object)
            }
        }
        return request
    }

    /// Opens the object that receives a job's bytes.
    private static func object(
        of work: Assignment, _ bytes: Int64?, _ split: Split
    ) throws(Failure) -> PendingObject {
        let job = work.job
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            return try work.storage.openAssembly(
                id: assembly.id, offset: offset, length: length, of: assembly.totalBytes,
                isFirstTry: job.attempt == 1)
        }
        if let first = split.takeFirstPart() { return first }
        return try work.storage.createTemporary(
            lease: work.lease, job: job.id, key: job.key, reservingBytes: bytes)
    }
}

import Model
import Storage
import Transfer

/// Words fetches for the transfer engine: where their bytes go, what they have to be, and when they are split.
struct FetchRequests: Sendable {
    /// A connection that is this fast fetches a large file alone, in bytes a second.
    let splitBelowBytesPerSecond: Double
    let held: HeldWork
    let splitter: Splitter
    let partials: PartialBodies

    /// - Parameter validator: of what is stored already: only something else is fetched.
    func request(
        for work: Assignment, _ split: Split, _ course: MirrorCourse, from partial: PartialBody?,
        unless validator: String?
    ) -> TransferRequest {
        let job = work.job
        var request = request(for: work, split)
        request.url = course.url
        request.validator = validator
        // Parts are asked for at the job's own URL, where another's validator is nothing. A file of a list
        // keeps its mirrors to its end; a title's may be many gigabytes, of which one connection makes hours.
        if !course.isAtMain || course.hasMirrors && (job.role ?? .file) == .file {
            request.splitAbove = nil
        }
        request.resumption = partials.resumption(of: work, split, from: partial)
        if let partial {
            // An answer that is the rest of it opens nothing, and so does not state its length.
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
            // Of a file in parts all is taken at once, by whoever splits it.
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
        request.opensAside = work.storage.isOnNetwork
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

    /// Where the bytes of a job go.
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

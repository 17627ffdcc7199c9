import API
import Model
import Storage
import Transfer

extension FetchTransfers {
    /// Returns the engine's request for a fetch: destination, expected bytes and splitting.
    ///
    /// - Parameter validator: validator of the stored file; a transfer fetches only a different
    ///   one.
    func request(
        for work: Assignment, _ split: Split, _ plan: MirrorPlan, from partial: PartialBody?,
        unless validator: String?
    ) -> TransferRequest {
        var request = request(for: work, split)
        request.url = plan.url
        // Mirrors are third parties.
        if plan.isAtMain || originName(of: plan.url) == originName(of: work.fetch.url) {
            request.access.headers = work.leased.originHeaders
        }
        request.validator = validator
        // Parts are requested at the job's own URL, where a mirror's validator is invalid. A list's
        // file keeps its mirrors instead of parts. A title's file may be many gigabytes, which take
        // one connection hours.
        if !plan.isAtMain || plan.hasMirrors && work.fetch.role == .file {
            request.delivery.split = nil
        }
        if let neighbour = work.fetch.neighbour {
            request.expected.bytes = neighbour.bytes
            request.expected.sha256 = neighbour.sha256
        }
        request.delivery.resumption = partials.resumption(of: work, split, from: partial)
        if let partial {
            // A response with the rest of a body opens no object, and so does not report its
            // length.
            let whole = work.fetch.isPart ? work.fetch.length : partial.record.totalBytes
            held.setExpected(whole, of: work.leased)
            if !work.fetch.isPart {
                held.setBegun(partial.record.totalBytes, of: work.leased)
                if let object = partial.object {
                    stream(
                        object, partial.record.totalBytes, from: partial.record.bytes, of: work)
                }
            }
        }
        return request
    }

    private func request(for work: Assignment, _ split: Split) -> TransferRequest {
        let fetch = work.fetch
        let destination = TransferRequest.Destination.object { (bytes) throws(Failure) in
            self.held.setExpected(bytes, of: work.leased)
            // A file in parts takes all of its space at once, in the code that splits it.
            if !work.fetch.isPart, split.multipart == nil {
                self.held.setBegun(bytes, of: work.leased)
            }
            do throws(Failure) {
                return try object(of: work, bytes, split)
            } catch {
                self.held.setBegun(0, of: work.leased)
                throw error
            }
        }
        var request = TransferRequest(
            for: work.leased, fetch.url, to: destination, role: fetch.role)
        request.isManifest = fetch.role == .playlist
        request.delivery.opensInBackground = work.storage.receiving.isOnNetwork
        if let part = fetch.part {
            request.range = TransferRequest.ByteRange(
                offset: part.offset, length: part.length, totalBytes: part.file.totalBytes,
                validator: part.file.validator)
        } else if case .range(let offset, let length) = fetch.body, fetch.neighbour == nil {
            // Of an object that may grow: it has no validator that its next range has. A neighbour
            // serves the file that has these bytes alone.
            request.range = TransferRequest.ByteRange(offset: offset, length: length)
            request.range?.isAlone = true
            request.expected.sha256 = fetch.sha256
        } else {
            request.expect(bytes: fetch.length, sha256: fetch.sha256, digests: fetch.digests)
            if case .whole(isDivisible: false, _) = fetch.body { return request }
            request.delivery.split = TransferRequest.SplitRule(
                partBytes: split.partBytes, maximumBytes: split.maximumBytes,
                belowBytesPerSecond: splitRate(at: work.storage)
            ) { (large, object) throws(Failure) in
                try self.splitter.begin(split, of: work, large, object)
            }
        }
        return request
    }

    /// Opens the object that receives a job's bytes.
    private func object(
        of work: Assignment, _ bytes: Int64?, _ split: Split
    ) throws(Failure) -> PendingObject {
        let job = work.job
        if let part = work.fetch.part {
            return try work.storage.openPart(
                lease: work.lease, job: job.id, of: part.file, offset: part.offset,
                length: part.length, isFirstTry: job.attempt == 1)
        }
        if let first = split.takeFirstPart() { return first }
        if let bytes { try work.storage.require(bytes: bytes) }
        let object = try work.storage.receiving.createTemporary(
            lease: work.lease, job: job.id, key: work.fetch.key, reservingBytes: bytes)
        // Until then it may become the first part of a file of several workers.
        if let bytes { stream(object, bytes, kept: split.partBytes, of: work) }
        return object
    }

    /// Sends a large body to its bucket while it arrives.
    private func stream(
        _ object: PendingObject, _ bytes: Int64, from written: Int64 = 0, kept: Int64 = 0,
        of work: Assignment
    ) {
        guard case .bucket(let storage) = work.storage else { return }
        let leased = work.leased
        storage.stream(
            object, bytes: bytes, written: written, kept: kept, by: partials.attempt(at: work)
        ) {
            held.isWanted(leased)
        }
    }

    /// Returns the rate of a connection below which a large file is split.
    ///
    /// A bucket's file of several workers is read and copied in the bucket, which must pay off.
    private func splitRate(at storage: SiteStorage) -> Double {
        storage.isBucket ? splitBelowBytesPerSecond / 10 : splitBelowBytesPerSecond
    }
}

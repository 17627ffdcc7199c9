package import Model

/// `GET /v1/catalogs/{id}/caches?after=…`: how the POPs of a cache served a catalog's objects when
/// they were last requested, and a page of those that it does not have.
package struct CacheReport: Codable, Hashable, Sendable {
    /// Empty on later pages.
    package var pops: [POP]
    package var findings: [Finding]
    package var next: String?

    /// Numbers of objects at a POP. `objects` also counts those that are not requested yet.
    package struct POP: Codable, Hashable, Sendable {
        /// Address, or the host of the edge: the first component of the assets' names.
        package var pop: String
        package var objects: Int
        /// Served from the cache.
        package var hits = 0
        /// Fetched from the origin, and stored.
        package var stored = 0
        /// Fetched from the origin; whether it was stored is not stated.
        package var misses = 0
        /// Fetched from the origin, and not stored.
        package var notStored = 0
        /// Served without a sign of a cache.
        package var unknown = 0
        /// Not served.
        package var failed = 0
        /// Objects, of all these, that are not stored, or were no hit when requested again.
        package var notCached = 0
        /// Objects, of these, that the cache had before.
        package var evicted = 0
        /// Objects of which another POP served other bytes.
        package var differing = 0
        /// Bytes of the bodies.
        package var bytes: Int64 = 0

        package init(pop: String, objects: Int) {
            self.pop = pop
            self.objects = objects
        }
    }

    /// An object that is not cached, or differs between POPs.
    package struct Finding: Codable, Hashable, Sendable {
        package var pop: String
        /// Path of the object, without its POP.
        package var path: String
        /// `content.notCached`, `content.evicted` or `content.differs`.
        package var code: FailureCode
        package var state: CacheAnswer.State
        /// Seconds of `Age`; nil without it.
        package var ageSeconds: Int?
        /// The header fields that decided, and those that forbid storing.
        package var detail = ""
        package var sha256: String
        /// True if another POP served other bytes.
        package var differs = false

        package init(
            pop: String, path: String, code: FailureCode, state: CacheAnswer.State, sha256: String
        ) {
            self.pop = pop
            self.path = path
            self.code = code
            self.state = state
            self.sha256 = sha256
        }
    }

    package init(pops: [POP], findings: [Finding], next: String?) {
        self.pops = pops
        self.findings = findings
        self.next = next
    }
}

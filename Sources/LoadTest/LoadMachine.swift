/// What one machine's CPUs did for a test: workers that share a machine share its CPUs.
///
/// A value: used by one owner at a time.
package struct LoadMachine: Sendable, Equatable, Codable {
    /// The host's name.
    package var name: String
    /// That its generators may run on, by the system's numbers.
    package var cpus: Set<Int>
    package var cpuSeconds: Double

    package init(name: String, cpus: Set<Int>, cpuSeconds: Double) {
        self.name = name
        self.cpus = cpus
        self.cpuSeconds = cpuSeconds
    }

    /// Adds what another worker on it did, or the same one later.
    package mutating func add(_ other: LoadMachine) {
        cpus.formUnion(other.cpus)
        cpuSeconds += other.cpuSeconds
    }
}

/// What one machine's CPUs did for a test: workers that share a machine share its CPUs.
///
/// A value: used by one owner at a time.
package struct LoadMachine: Sendable, Equatable, Codable {
    /// The host's name.
    package var name: String
    /// That its generators may run on, by the system's numbers.
    package var cpus: Set<Int>
    package var cpuSeconds: Double
    /// CPU seconds a second that a control group leaves to those on it, over 0; nil for all of `cpus`.
    package var quotaCores: Double?

    package init(
        name: String, cpus: Set<Int>, cpuSeconds: Double, quotaCores: Double? = nil
    ) {
        self.name = name
        self.cpus = cpus
        self.cpuSeconds = cpuSeconds
        self.quotaCores = quotaCores
    }

    /// CPU seconds a second that there are; 0 where that is not known.
    package var cores: Double {
        guard let quotaCores else { return Double(cpus.count) }
        return cpus.isEmpty ? quotaCores : min(quotaCores, Double(cpus.count))
    }

    /// Adds what another worker on it did, or the same one later.
    package mutating func add(_ other: LoadMachine) {
        cpus.formUnion(other.cpus)
        cpuSeconds += other.cpuSeconds
        quotaCores = other.quotaCores ?? quotaCores
    }
}

/// CPU use of one machine for a test. Workers on one machine share its CPUs.
///
/// A value: used by one owner at a time.
package struct LoadMachine: Sendable, Equatable, Codable {
    /// Host name.
    package var name: String
    /// CPUs that its generators may use, by the system's numbers.
    package var cpus: Set<Int>
    package var cpuSeconds: Double
    /// Quota of its control group in CPU seconds per second, above 0; nil for all of `cpus`.
    package var quotaCores: Double?

    package init(
        name: String, cpus: Set<Int>, cpuSeconds: Double, quotaCores: Double? = nil
    ) {
        self.name = name
        self.cpus = cpus
        self.cpuSeconds = cpuSeconds
        self.quotaCores = quotaCores
    }

    /// Available CPU seconds per second; 0 if unknown.
    package var cores: Double {
        guard let quotaCores else { return Double(cpus.count) }
        return cpus.isEmpty ? quotaCores : min(quotaCores, Double(cpus.count))
    }

    /// Adds the use of another worker on it, or of a later time.
    package mutating func add(_ other: LoadMachine) {
        cpus.formUnion(other.cpus)
        cpuSeconds += other.cpuSeconds
        quotaCores = other.quotaCores ?? quotaCores
    }
}

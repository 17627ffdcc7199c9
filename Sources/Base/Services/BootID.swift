import FoundationEssentials

/// The id of the running kernel's boot: the same for all its processes, in containers too, and a
/// different one after a restart of the machine. Nil if `/proc` does not show it.
package enum BootID {
    package static let current: String? = {
        let text = try? String(
            contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        let id = text.map { String($0.prefix { !$0.isWhitespace }) }
        return id?.isEmpty == false ? id : nil
    }()
}

import FoundationEssentials

/// The running kernel's boot: the same for all processes under it, in containers too, and another one after a restart
/// of the machine. Nil where `/proc` does not show it.
package enum BootID {
    package static let current: String? = {
        let text = try? String(
            contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        let id = text.map { String($0.prefix { !$0.isWhitespace }) }
        return id?.isEmpty == false ? id : nil
    }()
}

import Foundation

/// The sanitizer of `scripts/test --sanitize`.
package enum Sanitizer {
    /// True with a sanitizer, which multiplies memory and time, so that measurements of both are
    /// meaningless.
    package static let isOn = ProcessInfo.processInfo.environment["DRAY_SANITIZER"] != nil
}

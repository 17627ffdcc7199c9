package import Model
import Text

/// Formats the failure of a site that cannot be written.
package enum SiteFailureText {
    /// Returns the failure's hint, with the site's name in its commands.
    package static func hint(ofFault fault: Failure, at queue: String) -> String {
        fault.code.row.hint.replacing(" SITE ", with: " \(printable(queue)) ")
    }

    /// Returns text such as `storage.full: pwrite: No space left on device`.
    package static func text(ofFault fault: Failure) -> String {
        "\(fault.code.rawValue): \(printable(fault.message))"
    }
}

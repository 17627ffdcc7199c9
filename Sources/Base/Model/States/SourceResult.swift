/// The result of the last reading of a source.
package enum SourceResult: String, Codable, CaseIterable, Sendable {
    /// The list was submitted.
    case applied
    /// The list is the same as before; nothing was submitted.
    case unchanged
    /// The list could not be read, or was rejected; the catalog is as before.
    case failed
}

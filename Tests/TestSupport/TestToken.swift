package import Model

extension AccessToken {
    /// The one that coordinators and clients of the tests have.
    package static let test: AccessToken = {
        do {
            return try AccessToken("0123456789abcdef0123456789abcdef")
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

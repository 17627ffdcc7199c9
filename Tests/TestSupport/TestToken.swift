package import Model

extension AccessToken {
    /// The token of the tests' coordinators and clients.
    package static let test: AccessToken = {
        do {
            return try AccessToken("0123456789abcdef0123456789abcdef")
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

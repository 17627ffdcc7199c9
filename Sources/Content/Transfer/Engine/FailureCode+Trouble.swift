internal import Model

extension FailureCode {
    /// The sign of overload that the failure shows; nil for none.
    var trouble: AdaptiveConcurrency.Trouble? {
        switch self {
        case .originHTTP429: .tooManyRequests
        case .originHTTP503: .unavailable
        case .originHTTP504, .originHTTP522, .originHTTP524: .gatewayTimeout
        case .originTimeout: .timeout
        case .originReset: .reset
        case .originConnect: .refused
        default: nil
        }
    }
}

internal import Model

extension FailureCode {
    /// The sign of overload that the failure shows; nil for none.
    var overload: AdaptiveConcurrency.Overload? {
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

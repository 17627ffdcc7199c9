internal import CPostgres
internal import EventLoop
internal import Synchronization

// Converts the socket's events to results of the operation in progress.

extension PostgresConnection {
    /// A command queued in a pipeline, in the order of the answers.
    enum Command {
        case deallocate
        case prepare(String)
        case statement(String)
    }

    enum OperationKind { case pipeline, script, copyStart, copyFlush }

    struct Operation {
        let kind: OperationKind
        let commands: [Command]
        /// Number of completely answered commands.
        var answered = 0
        var results: [PostgresResult] = []
        var error: PostgresError?
        let continuation: CheckedContinuation<Result<[PostgresResult], PostgresError>, Never>

        /// The command whose answer arrives now; nil outside pipelines.
        var command: Command? { answered < commands.count ? commands[answered] : nil }

        var outcome: Result<[PostgresResult], PostgresError> {
            error.map { .failure($0) } ?? .success(results)
        }
    }

    /// Sends the queued commands and waits for all answers.
    func answer(
        _ kind: OperationKind, commands: [Command] = [], timeoutSeconds: Double? = nil
    ) async throws(PostgresError) -> [PostgresResult] {
        if let seconds = timeoutSeconds ?? patienceSeconds {
            deadline?.schedule(afterSeconds: seconds)
        }
        let outcome = await withCheckedContinuation { continuation in
            operation = Operation(kind: kind, commands: commands, continuation: continuation)
            flush()
            // The answer may have been read already: a failed COPY is answered before its end.
            collect()
        }
        return try outcome.get()
    }

    private func finish(_ outcome: Result<[PostgresResult], PostgresError>) {
        guard let finished = operation else { return }
        operation = nil
        deadline?.cancel()
        isReusable.store(
            failure == nil && PQtransactionStatus(handle.pointer) == PQTRANS_IDLE,
            ordering: .relaxed)
        finished.continuation.resume(returning: outcome)
    }

    /// Handles a readable, writable or broken socket, on the loop.
    func handle(_ ready: Readiness) {
        guard failure == nil else { return }
        if !ready.isDisjoint(with: [.readable, .hangUp, .error]) {
            let isAlive = PQconsumeInput(handle.pointer) == 1
            collect()
            guard failure == nil else { return }
            deliverNotifications()
            if !isAlive {
                breakDown(operation?.error ?? lost())
                return
            }
        }
        if ready.contains(.writable) { flush() }
    }

    func flush() {
        guard failure == nil else { return }
        let state = PQflush(handle.pointer)
        do {
            try loop.modify(descriptor, for: state == 1 ? [.readable, .writable] : .readable)
        } catch {
            breakDown(PostgresError(.connectionLost, error.description))
            return
        }
        // A failed write is not reported here: the server's last message may still be readable, and
        // the end of the connection wakes the reader.
        if state == 0, operation?.kind == .copyFlush { finish(.success([])) }
    }

    /// Processes every result that has arrived completely.
    private func collect() {
        while var current = operation, current.kind != .copyFlush,
            PQisBusy(handle.pointer) == 0
        {
            guard let pointer = PQgetResult(handle.pointer) else {
                if current.kind != .pipeline {
                    finish(current.outcome)
                    return
                }
                // The end of one command. More ends than commands mean that libpq has nothing to
                // wait for: the connection is closed.
                current.answered += 1
                operation = current
                if current.answered > current.commands.count {
                    breakDown(current.error ?? lost())
                }
                continue
            }
            let result = PostgresResult(owning: pointer)
            switch PQresultStatus(pointer) {
            case PGRES_PIPELINE_SYNC:
                finish(current.outcome)
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                switch current.command {
                case .statement, nil: current.results.append(result)
                case .prepare, .deallocate: break
                }
                operation = current
            case PGRES_COPY_IN where current.kind == .copyStart:
                finish(.success([]))
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                // There is no data source, and the protocol allows only closing the connection.
                breakDown(PostgresError(.usage, "COPY is for copyIn only"))
            default:
                let error = serverError(pointer)
                forget(current.command, after: error)
                if current.error == nil { current.error = error }
                operation = current
            }
        }
    }

    /// Removes a statement from the cache if its preparation failed, or if the server no longer
    /// knows it or can no longer run it as prepared.
    private func forget(_ command: Command?, after error: PostgresError) {
        switch command {
        case .prepare(let sql): cache.remove(sql)
        case .statement(let sql) where ["0A000", "26000"].contains(error.sqlState):
            cache.remove(sql)
        case .statement, .deallocate, nil: break
        }
    }

    private func deliverNotifications() {
        while let message = PQnotifies(handle.pointer) {
            notify.yield(
                PostgresNotification(
                    channel: String(cString: message.pointee.relname),
                    payload: String(cString: message.pointee.extra)))
            PQfreemem(message)
        }
    }

    // MARK: Failures

    func giveUp() {
        breakDown(PostgresError(.timeout, "the server did not answer in time"))
    }

    private func lost() -> PostgresError {
        PostgresError(.connectionLost, handle.message(without: secrets))
    }

    /// Closes the connection, because libpq rejected a command and its state is unknown.
    func sendFailed() -> PostgresError {
        breakDown(lost())
    }

    /// Ends the connection permanently, and reports the reason to the waiting task.
    @discardableResult
    func breakDown(_ reason: PostgresError) -> PostgresError {
        if let failure { return failure }
        failure = reason
        isReusable.store(false, ordering: .relaxed)
        deadline?.cancel()
        deadline = nil
        loop.deregister(descriptor)
        finish(.failure(reason))
        notify.finish()
        PQfinish(handle.pointer)
        return reason
    }

    private func serverError(_ result: OpaquePointer) -> PostgresError {
        func text(_ field: UnsafeMutablePointer<CChar>?) -> String? {
            field.map { ConnectionHandle.clean(String(cString: $0), without: secrets) }
        }
        let state = text(dray_pq_sqlstate(result)) ?? ""
        guard state.utf8.count == 5 else { return lost() }
        return PostgresError(
            .server, text(dray_pq_message(result)) ?? "no message", sqlState: state,
            detail: text(dray_pq_detail(result)), constraint: text(dray_pq_constraint(result)))
    }
}

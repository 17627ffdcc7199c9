import QueueSQL

/// The statements of the files of `SQL/`: one case each, so that an unknown name does not compile.
extension SQL {
    enum Submitting: String, SQLSubject {
        case sitesInBucket, nestedSites, site, queue, outsideRoots, openCatalog, redefineTitles
        case stageAssets, copyAssets, copyPlainAssets
        case origins, directories, mergeAssets, noteFound, mergeMirrors

        static let file = SQL.file(sql_submitting())
    }

    enum Catalogs: String, SQLSubject {
        case lock, tryLock, read, select, running, tallied, fold, interruptJobs, lockLanes, haveJobs
        case noteReceived, interruptAssets, settle, interrupt

        static let file = SQL.file(sql_catalogs())
    }

    enum Starting: String, SQLSubject {
        case hasNeighbours, contents, lockWork, lockAssets, awaitedPublication, endRenewals,
            forget, renew, lanes
        case lockLanes, newFiles, fileSegments, dropSidecars, sidecars, dropParts, jobs, isolate
        case totals, left, changed, notFailed, interruptedAssets

        static let file = SQL.file(sql_starting())
    }

    enum KeyConflicts: String, SQLSubject {
        case lock, free, refuseHeld, refuseRivals, resolvedHolder

        static let file = SQL.file(sql_key_conflicts())
    }

    enum KnownFiles: String, SQLSubject {
        case stage, storedByFiles, noteFiles, adoptFound, sources, haveResults, storedByTitles
        case noteTitle, adoptTitle

        static let file = SQL.file(sql_known_files())
    }

    enum Neighbours: String, SQLSubject {
        case sites, choose, dropFormer, set, await, noteActive, lanes, decide, targetLanes
        case makeLanes, targets
        case lockLanes

        static let file = SQL.file(sql_neighbours())
    }

    enum Leasing: String, SQLSubject {
        case queues, queuesWithWork, claim, leasedJobs, traces, parts, dropLease, release, jobsHeld
        case worker, wantedJobs, extend, stoppedJobs, served, sweep, noteLost, jobsOfLeases
        case lostJobs, recordLosses

        static let file = SQL.file(sql_leasing())
    }

    enum Reporting: String, SQLSubject {
        case settleDone, reportedJobs, settleFetches, retry, deleteJob
        case settleAsset, noteOutcomes, noteReturned

        static let file = SQL.file(sql_reporting())
    }

    enum Multipart: String, SQLSubject {
        case divide, makeParts, isFirstPart, partDone, partFailed, deleteJobs, reset, verified
        case verifyFailed, abandoned, givenUp, release

        static let file = SQL.file(sql_multipart())
    }

    enum Resolving: String, SQLSubject {
        case areKnown, copySegments, stageSegments, copyStaged, origins, mergeSegments
        case mergeMirrors, storeRewrittenManifests, rewrittenManifest, warnings, knownWarnings, trim
        case sidecars, segmentOrigins, lanes, lockLanes, jobs, refusedJobs, queueReads, renewURLs
        case endRead, failRefused

        static let file = SQL.file(sql_resolving())
    }

    enum OptionalRenditions: String, SQLSubject {
        case short, lock, losses, leaveOut, resolve, fail, note

        static let file = SQL.file(sql_optional_renditions())
    }

    enum Recording: String, SQLSubject {
        case begin, known, insert, markOptional, update, unread, find, end, outcome, lost,
            nameGaps, nameUnrecorded
        case manifest, keep, playlist, written, origins, jobs, delay

        static let file = SQL.file(sql_recording())
    }

    enum Refreshing: String, SQLSubject {
        case isLacking, lanes, jobs, forget, files, stagedFiles, store, grantPublication, isGranted
        case found, segments, results, settle, failPublication, summary, failures, lacking
        case dropDeadline, postponeDue, catalogsDue, due, delayDue, setTimes

        static let file = SQL.file(sql_refreshing())
    }

    enum Purging: String, SQLSubject {
        case share, awaited, ensureJobs, catalog, limitWait, lockSite, page, wait, gone, settle, end
        case releaseHeld, releaseReturned, releaseLost

        static let file = SQL.file(sql_purging())
    }

    enum CacheAnswers: String, SQLSubject {
        case note, pops, findings

        static let file = SQL.file(sql_cache_answers())
    }

    enum Rights: String, SQLSubject {
        case expired, expiring, hasAny, mayBegin, beginning, begin, rescheduled, reschedule
        case refuseExpired, refuseContradictory, lockTitles, refuseSites, refuseFetches
        case expiringBy, rejections, countFetches

        static let file = SQL.file(sql_rights())
    }

    enum Evicting: String, SQLSubject {
        case room, tryLock, candidates, still, note, begin, extend, stop, end, postpone, site
        case notePopularity, popularity

        static let file = SQL.file(sql_evicting())
    }

    enum Removing: String, SQLSubject {
        case stopStoring, remove, refreshed, over, finish

        static let file = SQL.file(sql_removing())
    }

    enum ChecksumFiles: String, SQLSubject {
        case begin, lockWriter, takeOver, page, settle, retry

        static let file = SQL.file(sql_checksum_files())
    }

    enum Origins: String, SQLSubject {
        case list, named, note, lock, succeed, fail, coolDown, cooldowns, defaults, setDefaults
        case setLimits, clearLimits, page, decisions, decide

        static let file = SQL.file(sql_origins())
    }

    enum Mirrors: String, SQLSubject {
        case lanes, jobs, unwell, makeLanes, lockLanes, room, move, emptied

        static let file = SQL.file(sql_mirrors())
    }

    enum Quotas: String, SQLSubject {
        case concerned, lockOrigins, lockSites, read, store, drop, end, ofSites

        static let file = SQL.file(sql_quotas())
    }

    enum Sites: String, SQLSubject {
        case named, status, bounded, set, apply, due, tryRoom, resume, bounds, retry, noteUnderWay
        case unprobed, probe, quotaChanges, applyQuota, seen, fail, volume, recordVolume
        case forgetVolume, notify, lockVolumes, othersOnVolume, takeVolume
        case sharedOutdated, tryLockShared, countShared

        static let file = SQL.file(sql_sites())
    }

    enum Sources: String, SQLSubject {
        case set, readNow, remove, status, site, called, lease, extend, known, addBatch, batch
        case reopen, noteOpened, finish, release, claimRefreshes, noteRefreshed, notify

        static let file = SQL.file(sql_sources())
    }

    enum Audits: String, SQLSubject {
        case site, create, createDue, called, lease, extend, sortInMemory, list, page, records,
            owned
        case multiparts, leases, assets, catalogsOf, lose, reusable, rejected,
            rewriteChecksums, queuedBefore, read, count, find, end
        case release, cancel, status, findings, stuck, trim, notify

        static let file = SQL.file(sql_audits())
    }

    enum Selecting: String, SQLSubject {
        case assets, lockLanes, hasName, lockJobs, cancelJobs, cancelAssets, cancelCatalog
        case lockDelayed, lockAssets, reprioritise, pause, resume, notePaused, forgetPaused,
            moveJobs, pin
        case reprioritiseCatalog, reschedule

        static let file = SQL.file(sql_selecting())
    }

    enum Workers: String, SQLSubject {
        case seen, backlog, busy, ofQueue, noteMinute, noteRuns, ofRun, history, silent,
            forgetWorkers

        static let file = SQL.file(sql_workers())
    }

    enum LoadTests: String, SQLSubject {
        case create, storeURLs, open, called, lock, start, stop, end, followed, status, countShards
        case changeable, change, changes
        case shards, place
        case join, lockShard, order, report, beginShards, dismissShards, loseSilent, loseOverdue
        case urlBlock, storeParts, countParts, parts, deleteData
        case storeIntervals, intervals, takeIntervals, breakdown, notify

        static let file = SQL.file(sql_load_tests())
    }

    enum Browsing: String, SQLSubject {
        case assets, missingSidecars, files, queues, setQueueState

        static let file = SQL.file(sql_browsing())
    }

    enum Daily: String, SQLSubject {
        case tryLock, noteFailures, foldFailures, foldStarted, fold, trim, report, isKnown

        static let file = SQL.file(sql_daily())
    }

    enum Figures: String, SQLSubject {
        case queues, workers, catalogs, deadlines, origins, cooldowns, quotas, webhooks, audits
        case server, settings, transactions, tables

        static let file = SQL.file(sql_figures())
    }

    enum Status: String, SQLSubject {
        case active

        static let file = SQL.file(sql_status())
    }

    enum Access: String, SQLSubject {
        case tokens, knownTokens, lockTokens, countTokens, createToken, revokeToken, notifyTokens
        case noteUses, forgetTokens, sitesOfQueues, siteOfCatalog, beginChange, endChange
        case auditPage, trimAudit
        case findRequest, boundIdle, claimRequest, keepAnswer, trimRequests

        static let file = SQL.file(sql_access())
    }

    enum Events: String, SQLSubject {
        case now, beginning, page, trim, disown

        static let file = SQL.file(sql_events())
    }

    enum Webhooks: String, SQLSubject {
        case lock, count, create, list, change, remove, behind, enqueue, advance, lease, delivered
        case failed, expire, exists, deliveries, redeliver, trim

        static let file = SQL.file(sql_webhooks())
    }

    enum Housekeeping: String, SQLSubject {
        case leases, spans, lanes, cancelled, checksumWriters, losses, workers, workerMinutes,
            runWork
        case titleFetches
        case tidyOrigins, origins, rewrittenManifests, multipartFiles, loadTests, oldCatalogs
        case forgetAssets, forgetCatalog

        static let file = SQL.file(sql_housekeeping())
    }

    enum Common: String, SQLSubject {
        case notifyWork, commitLater, planOnce, lockBriefly, lockPatiently

        static let file = SQL.common
    }

    enum Schema: String, SQLSubject {
        case lock, state, create, edited, record, functions, recordFunctions, pin

        static let file = SQL.file(sql_schema())
    }
}

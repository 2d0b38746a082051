// Made by scripts/generate-docs from protocol/trimpoint_protocol. Do not edit.

/**
 * An answer to a question of the agent came to nothing: it was answered, resolved or expired before, or never asked.
 */
export type AnswerIgnored = {
    reason: string;
    requestId: number | string | null;
};

/**
 * `/new`: archive the thread and create one with the same project, worktree, branch and settings.
 *
 * `newThreadId`, when given, must be an unused UUID. With `pins` the new thread begins with what is pinned in this one: notes, then the turns, which are its first.
 */
export type ArchiveAndNew = {
    type: "thread.archive-and-new";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    newThreadId?: string | null;
    pins?: boolean;
};

/**
 * Put the thread away; it stays listed and readable.
 */
export type ArchiveThread = {
    type: "thread.archive";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * What is done about a full context without being asked. `mode`: off | warn | compact, as configured.
 *
 * `state`: `idle`; `due` (the thread will be compacted as soon as it is idle, before its next turn); `running`; `stopped` (the last attempts were in vain, or the context was full again within a turn each time: no more until a person compacts or clears, or the usage falls). `message` is for a person, "" when there is nothing to say.
 */
export type AutoCompaction = {
    mode: "compact" | "off" | "warn";
    state: "due" | "idle" | "running" | "stopped";
    message: string;
};

/**
 * The reason why a thread is busy: `kind` is `turn`, `operation` or `request`; `since` is RFC 3339.
 */
export type Blocker = {
    kind: "operation" | "request" | "turn";
    id: string;
    since: string;
    detail?: string;
};

/**
 * `operationId` is that of the command's progress.
 */
export type CancelParams = {
    operationId: string;
};

/**
 * `cancelled` false: it is no compaction that is under way, or its summary has come already.
 */
export type CancelResult = {
    cancelled: boolean;
};

/**
 * How the files differ. `changed` counts all of them, `files` lists at most ten thousand.
 *
 * `diff` is a unified diff as git writes it, null if it was not asked for, `truncated` when it was cut.
 */
export type CheckpointDiff = {
    repository: string;
    older: DiffSide;
    newer: DiffSide;
    changed: FilesChanged;
    files: FileChange[];
    diff: string | null;
    truncated: boolean;
};

/**
 * Two moments: a turn's number or id (its end; 0: before the first), a commit, `safety`, or `now`, the files as they are.
 *
 * Without `newer`: the last turn. Without `older`: the beginning of that turn; for anything else, the end of the last turn. `paths` limits the text to these files and folders. The text is cut after `maxBytes`; 0 leaves it out.
 */
export type CheckpointDiffParams = {
    threadId: string;
    older?: string | null;
    newer?: string | null;
    paths?: string[];
    maxBytes?: number;
};

/**
 * In order. `older`: how many turns come before these. `safety` is the commit of the state before the last revert of files.
 */
export type CheckpointList = {
    repository: string | null;
    turns: TurnCheckpoint[];
    older: number;
    safety: string | null;
};

/**
 * The newest `limit` turns. `changes` false leaves out what each turn changed, which has to be computed.
 */
export type CheckpointListParams = {
    threadId: string;
    limit?: number;
    changes?: boolean;
};

/**
 * By repository; folders of threads that lie in none are left out.
 */
export type CheckpointStorage = {
    repositories: RepositoryStorage[];
};

/**
 * The items of one class. A message of Codex's own can hold parts of several classes: it is counted with its first part, its tokens with each.
 */
export type ClassTotal = {
    class: "assistant" | "environment" | "image" | "instructions" | "other" | "pinned" | "projectDocs" | "reasoning" | "skills" | "summary" | "toolCall" | "toolResult" | "tools" | "user";
    count: number;
    estTokens: number;
    share: number | null;
};

/**
 * The child. `state`: connected | idle (not needed yet) | unavailable, with `problem` saying why.
 *
 * `overrides` are the `-c` values it is run with, in order.
 */
export type CodexStatus = {
    path: string;
    state: "connected" | "idle" | "unavailable";
    version: string | null;
    problem: string | null;
    epoch: number;
    overrides: string[];
};

/**
 * A slash command, for menus and help.
 */
export type CommandInfo = {
    name: string;
    usage: string;
    summary: string;
    details: string;
};

/**
 * Slash commands, in menu order.
 */
export type CommandList = {
    commands: CommandInfo[];
};

/**
 * How a slash command ended. `handled` false: the input is no command of ours, and nothing was done.
 *
 * `status`: completed | skipped (nothing changed, and need not) | failed | cancelled (by a person, and nothing changed). `message` is a sentence for a person. With a `reason` out of the error reasons when it did not complete; `blocker` when the thread was busy. `tokens` tells of a trim, `files` of a revert; `undo` is what to type to take the command back. `newThreadId` is the thread of `/new`, and where the thread is archived the one that it went on as. With `dryRun` nothing was changed, and the answer says what would be. `operationId` is that of its progress, where it came to an operation.
 */
export type CommandOutcome = {
    handled: boolean;
    command?: string | null;
    status?: "cancelled" | "completed" | "failed" | "skipped" | null;
    reason?: string | null;
    message?: string | null;
    sequence?: number | null;
    trimPointId?: string | null;
    summary?: string | null;
    summaryUnavailable?: boolean | null;
    newThreadId?: string | null;
    blocker?: Blocker | null;
    compression?: CompressionPreview | null;
    files?: RevertedFiles | null;
    tokens?: TokenChange | null;
    undo?: string | null;
    dryRun?: boolean | null;
    operationId?: string | null;
};

/**
 * What a slash command is doing; `phase`: compacting | stopping | starting | bootstrapping | retrying | ready | failed | cancelled.
 *
 * `trigger` "auto": an automatic compaction, of which all who take part in the thread or follow it hear. `command` is "overflow" where nobody gave one: a turn that did not fit is being tried again, and every client of the thread hears it.
 */
export type CommandProgress = {
    threadId: string;
    command: string;
    phase: string;
    message: string;
    operationId: string;
    trigger?: string;
};

/**
 * `/compact`: summarize the active context, then trim it, keeping the last `keepLastNTurns` turns verbatim.
 *
 * `force` compacts even when there are fewer messages than the configured minimum, and keeps turns word for word that Codex has compacted automatically. `model` writes the summary in place of the thread's own or the configured one; the thread keeps its model. Without `force`, a summary that is no smaller than what it stands for is not accepted.
 */
export type CompactContext = {
    type: "thread.context.compact";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    guidance?: string | null;
    keepLastNTurns?: number | null;
    force?: boolean;
    model?: string | null;
};

/**
 * `text` is what has been typed so far.
 */
export type CompleteParams = {
    text: string;
};

/**
 * The discarded segments of one kind.
 */
export type CompressionClass = {
    kind: string;
    count: number;
    estTokens: number;
};

/**
 * What `/compress` takes, by kind in the order of its priority; `leftEstTokens` is what stays.
 */
export type CompressionPreview = {
    classes: CompressionClass[];
    entryIds: string[];
    totalEstTokens: number;
    leftEstTokens: number;
    targetTokens: number;
    floorTokens: number;
};

/**
 * `advice` is empty while the level is ok or unknown; the first helps most.
 */
export type ContextAdvice = {
    threadId: string;
    level: "critical" | "ok" | "warning" | null;
    advice: TrimAdvice[];
};

/**
 * What the model is sent before the next prompt, in order.
 *
 * `estimatedTokens` is the sum of the items, `usedTokens` what the meter says, measured where `estimated` is false, and `overheadTokens` the difference: tools, whose definitions Codex does not report, and the error of the estimates. `note` says what is not known of the items, or why `usedTokens` is an estimate. `predicted`: Codex has not written its own items yet, and these are those of the session before.
 */
export type ContextInspection = {
    threadId: string;
    items: InspectedItem[];
    totals: ClassTotal[];
    estimatedTokens: number;
    usedTokens: number;
    estimated: boolean;
    overheadTokens: number;
    windowTokens: number | null;
    percent: number | null;
    level: "critical" | "ok" | "warning" | null;
    predicted: boolean;
    note: string | null;
};

/**
 * One thing of the agent's context that can only leave it whole: a message, or a tool call with its result.
 *
 * `shortId` is for people and agents and means the same for as long as the context does. `role`: user | assistant | tool. `kind`: message | fileRead | command | check | fileChange | plan | title | toolCall | contextTool | history | summary. `protected` says why it stays: newest | codeChange | plan | finalAnswer | summary | pinned | injected | notRecorded; null when it may go.
 */
export type ContextMessage = {
    shortId: string;
    turnId: string;
    entryIds: string[];
    role: string;
    kind: string;
    preview: string;
    estTokens: number;
    protected: string | null;
};

/**
 * In the order in which the model sees it. No discard leaves less than `floorTokens`; `/compress` stops at `targetTokens`.
 *
 * `refusal` says why nothing at all can be discarded at present, if that is so.
 */
export type ContextMessageList = {
    messages: ContextMessage[];
    totalEstTokens: number;
    targetTokens: number;
    floorTokens: number;
    refusal: string | null;
};

/**
 * What stays in the context whatever is trimmed: a turn, or a note of the person's.
 *
 * `number` is its place in the list, `turn` the turn's number counted from 1, null for a note. `carried`: it stands behind the summary, because its turn was trimmed away or it is a note; else it stands in its place.
 */
export type ContextPin = {
    id: string;
    number: number;
    turnId: string | null;
    turn: number | null;
    note: string;
    preview: string;
    estTokens: number;
    carried: boolean;
    createdAt: string;
};

/**
 * How full the agent's context is. Tokens throughout; `usedTokens` is what Codex calls `last.totalTokens`.
 *
 * `unknown`: Codex has not reported yet what the context holds, as after a trim, and `usedTokens` is an estimate of its own making. `estimated`: `usedTokens` was not measured by a model call; after an overflow it is the whole window. `windowTokens` is Codex's `modelContextWindow`, else what is configured for the model, else null, and with it `percent` (used of window), `level` (ok | warning | critical) and `providerCompactsAtTokens` (where Codex would compact by itself). `leftPercent` is what Codex's own interface shows: it takes the first 12,000 tokens for instructions and tools and leaves them out, so that it and `percent` do not add up to 100.
 *
 * `current…` counts the model calls since the last trim, `total…` those of the whole thread; cached is part of input, reasoning part of output. `compactionCount` is of trim points that summarized, `providerCompactionCount` of Codex's own compactions. `generation` and `auto` are null for a thread that is not in the books, a sub-agent's. `note` says why `usedTokens` is an estimate or what it leaves out, null where it is measured.
 */
export type ContextStatus = {
    threadId: string;
    model: string | null;
    usedTokens: number;
    windowTokens: number | null;
    percent: number | null;
    leftPercent: number | null;
    estimated: boolean;
    unknown: boolean;
    level: "critical" | "ok" | "warning" | null;
    providerCompactsAtTokens: number | null;
    currentInputTokens: number;
    currentCachedInputTokens: number;
    currentOutputTokens: number;
    currentReasoningOutputTokens: number;
    currentTotalTokens: number;
    totalInputTokens: number;
    totalCachedInputTokens: number;
    totalOutputTokens: number;
    totalReasoningOutputTokens: number;
    totalTokens: number;
    generation?: number | null;
    compactionCount?: number;
    providerCompactionCount?: number;
    auto?: AutoCompaction | null;
    note?: string | null;
};

/**
 * The summary of the pruned section above it.
 */
export type ContextSummaryBanner = {
    kind: "contextSummaryBanner";
    trimPointId: string;
    header: string;
    summary: string;
};

/**
 * A boundary before which entries are no longer in the agent's context, or a discard, which took out single ones (`trimKind`).
 *
 * `beforeEntryId` is the last entry before the boundary (null when the ledger was empty there). The counts are of what this trim point newly excluded. `status`: `pending` until the new session is ready, then `applied`; `deferred` when the session could not be started yet and the next turn will start it. A discard prunes no turn; `discardedEntryIds` names what it took out, `estTokens` what that was estimated to cost. `turnsBefore` turns stand before it in the thread.
 */
export type ContextTrimPoint = {
    id: string;
    createdAt: string;
    beforeEntryId: string | null;
    prunedMessageCount: number;
    prunedTurnIds: string[];
    firstKeptTurnId: string | null;
    summary: string | null;
    summaryUnavailable: boolean;
    trigger: string;
    status: "applied" | "deferred" | "pending";
    generation: number;
    trimKind: "boundary" | "discard";
    discardedEntryIds: string[];
    estTokens: number | null;
    turnsBefore?: number | null;
};

/**
 * The boundary itself; `hiddenMessageCount` is of the section above it, whether expanded or not.
 *
 * `trimKind`: `boundary`, or `discard`: then nothing is hidden, and the count is of the entries that were taken out, which stay where they were said and are flagged. `pinnedCount`: so many of the turns that the trim took out are pinned, and so still in the context.
 */
export type ContextTrimPointDivider = {
    kind: "contextTrimPointDivider";
    trimPointId: string;
    label: string;
    hiddenMessageCount: number;
    expanded: boolean;
    trimKind: "boundary" | "discard";
    pinnedCount?: number;
};

/**
 * The new thread. It holds so many `turns` and `items`, and about `estTokens`; `leftOut` says what of the session's live context is not in it.
 */
export type ContinuedSession = {
    threadId: string;
    sessionId: string;
    agent: "claude" | "codex" | "gemini" | "trimpoint";
    cwd: string;
    turns: number;
    items: number;
    estTokens: number;
    leftOut: string[];
};

/**
 * One of the two moments. `commit` is null for now. `notes` say what is not in it.
 */
export type DiffSide = {
    label: string;
    commit: string | null;
    capturedAt: string;
    notes: string[];
};

/**
 * Take single entries out of the agent's context: those named by `entryIds` (see `context/messages/list`), or, with `targetTokens`, what `/compress` would take.
 *
 * What belongs together goes together: a tool call with its result and the reasoning before it. All of it is done, or nothing.
 */
export type DiscardContext = {
    type: "thread.context.discard";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    entryIds?: string[] | null;
    targetTokens?: number | null;
    trigger?: string | null;
};

/**
 * One command of the tagged union, told apart by its `type`.
 */
export type DispatchParams = {
    command: ArchiveAndNew | ArchiveThread | CompactContext | DiscardContext | PinContext | RenameThread | RevertToCheckpoint | StartSession | StopSession | TrimContext | UnarchiveThread | UndoTrim | UnpinContext;
};

/**
 * The command is durable; `sequence` is of its last event. Side effects may still be under way.
 */
export type DispatchResult = {
    sequence: number;
    events: EventEnvelope[];
    operationId: string | null;
};

/**
 * Done.
 */
export type Empty = Record<string, never>;

/**
 * One journaled event.
 *
 * `sequence` orders all threads' events, `threadSequence` those of one thread without gaps. `askedBy` names the person of a fleet who gave the command from another machine.
 */
export type EventEnvelope = {
    sequence: number;
    threadSequence: number;
    eventId: string;
    occurredAt: string;
    commandId: string | null;
    operationId: string | null;
    type: string;
    payload: Record<string, any>;
    askedBy?: string | null;
};

/**
 * `text` is the whole input; `threadId` may be left out for commands about no thread (`/help`).
 *
 * `dryRun` is `--dry-run` for the commands that know it.
 */
export type ExecuteParams = {
    text: string;
    threadId?: string | null;
    commandId?: string | null;
    dryRun?: boolean;
};

/**
 * `pruned`: with what is no longer in the agent's context; `includeCompacted` is the same for the format unified, that of sessions of all agents.
 */
export type ExportParams = {
    threadId: string;
    format?: "json" | "markdown" | "unified";
    pruned?: boolean;
    includeCompacted?: boolean;
};

/**
 * The document as text. As JSON it is an object with `thread` and `entries`, those of `timeline/read`.
 */
export type ExportResult = {
    format: string;
    content: string;
};

/**
 * One file that differs. Lines are counted unless it is `binary`. Bytes of a path that are no UTF-8 are shown as `\\xff`.
 */
export type FileChange = {
    path: string;
    oldPath: string | null;
    status: "added" | "deleted" | "modified" | "renamed" | "typeChanged";
    additions: number | null;
    deletions: number | null;
    binary: boolean;
};

/**
 * How much differs; binary files count as files only.
 */
export type FilesChanged = {
    files: number;
    additions: number;
    deletions: number;
};

/**
 * The newest `limit` events of a thread on a machine.
 */
export type FleetEventsParams = {
    host: string;
    threadId: string;
    limit?: number;
};

/**
 * Events as the hub has them, oldest first; `earlier` counts those that are left out.
 */
export type FleetEventsResult = {
    events: EventEnvelope[];
    earlier: number;
};

/**
 * A command for a thread on another machine. The same `commandId` again is done once.
 */
export type FleetExecuteParams = {
    host: string;
    threadId: string;
    command: "clear" | "compact" | "interrupt";
    commandId: string;
    keep?: number | null;
    guidance?: string;
};

/**
 * What a team's machines have.
 *
 * `host` is the name of this machine. `person` is who asks, by the daemon's `person_credentials`; null where it shows no fleet. `mayCommand`: that person may clear, compact and interrupt. The newest thread comes first.
 */
export type FleetOverview = {
    host?: string | null;
    person?: string | null;
    mayCommand?: boolean;
    hosts: HostPresence[];
    threads: ThreadOnHost[];
};

/**
 * An entry with its whole text: what was said; or of a command, what was run and put out; of a file change, what changed; of a tool, what it was asked and answered. `truncated`: the text is cut, because the answer would be too large.
 */
export type HistoryEntry = {
    turnId: string;
    turn: number;
    entryId: string;
    shortId: string;
    kind: "assistant" | "command" | "fileChange" | "other" | "plan" | "reasoning" | "toolCall" | "user";
    createdAt: string;
    text: string;
    truncated: boolean;
    inContext: boolean;
};

/**
 * Entries that stand together, oldest first, and whether there are others before and after.
 */
export type HistoryExcerpt = {
    threadId: string;
    entries: HistoryEntry[];
    hasBefore: boolean;
    hasAfter: boolean;
};

/**
 * An entry that was found. A higher `score` is a better match; scores of two searches do not compare.
 *
 * `turn` counts the thread's turns from 1, and `shortId` names the entry in the thread: `h3.2` is the second entry of the third turn. `snippet` is a piece of its text in one line, and each of `marks` where a word of the query stands in it: start and end, in characters (code points).
 */
export type HistoryHit = {
    threadId: string;
    threadName: string | null;
    turnId: string;
    turn: number;
    entryId: string;
    shortId: string;
    kind: "assistant" | "command" | "fileChange" | "other" | "plan" | "reasoning" | "toolCall" | "user";
    createdAt: string;
    snippet: string;
    marks: number[][];
    score: number;
    inContext: boolean;
};

/**
 * `entryId` is an entry's id or short id; with `turnId` that of this turn, as ids may be used again. `before` and `after`: so many entries around it too.
 */
export type HistoryReadParams = {
    threadId: string;
    entryId: string;
    turnId?: string | null;
    before?: number;
    after?: number;
};

/**
 * An entry is found that has all words of `query`; where there is none, those that have all but one. Words in double quotes must follow each other, `conf*` finds words that begin so. Case and accents do not count, and parts of identifiers are words.
 *
 * `scope`: thread (that of `threadId`; so it is where `threadId` is given) | folder (all threads of the folder `cwd`, or of that thread's folder) | all (so it is otherwise). `kinds`: only these. `prunedOnly`: only what is not in the agent's context.
 */
export type HistorySearchParams = {
    query: string;
    threadId?: string | null;
    scope?: "all" | "folder" | "thread" | null;
    cwd?: string | null;
    kinds?: ("assistant" | "command" | "fileChange" | "other" | "plan" | "reasoning" | "toolCall" | "user")[];
    prunedOnly?: boolean;
    limit?: number | null;
    cursor?: string | null;
};

/**
 * The best first, among equals the newest. `nextCursor` is null when nothing more matches. `unread`: of so many threads not everything is indexed yet.
 */
export type HistorySearchResult = {
    hits: HistoryHit[];
    nextCursor: string | null;
    unread: number;
};

/**
 * A machine that is there. `behind` counts threads whose newest events the hub has not yet, `notMirrored` those that it does not get; `content` is which words it sends.
 */
export type HostPresence = {
    host: string;
    version: string;
    since: string;
    at: string;
    content: string;
    threads: number;
    busy: number;
    behind: number;
    notMirrored: number;
};

/**
 * One item of what the model is sent. `share` is of the window, null while that is unknown.
 *
 * `turnId`, `entryId` and `shortId` are null where the ledger knows nothing of the item: what Codex wrote by itself. `protected` is as in `context/messages/list`.
 */
export type InspectedItem = {
    index: number;
    class: "assistant" | "environment" | "image" | "instructions" | "other" | "pinned" | "projectDocs" | "reasoning" | "skills" | "summary" | "toolCall" | "toolResult" | "tools" | "user";
    turnId: string | null;
    entryId: string | null;
    shortId: string | null;
    role: string;
    preview: string;
    estTokens: number;
    share: number | null;
    protected: string | null;
    pinned: boolean;
};

/**
 * `url` logs in the first browser that opens it, within `expiresInS` seconds. `codexHome` is where the Codex of its page keeps login and threads.
 */
export type LoginUrl = {
    url: string;
    expiresInS: number;
    codexHome?: string | null;
};

/**
 * `listen`: where HTTP is not served over TCP yet, serve it at this machine's own address. `ownHome`: the WebSockets of this login use the home of Codex that this client uses, not the daemon's own; only a daemon in the background does so.
 */
export type LoginUrlParams = {
    listen?: boolean;
    ownHome?: boolean;
};

/**
 * Numbers of one meaning. `kind`: a counter only grows, from 0 at the daemon's start.
 */
export type MetricFamily = {
    name: string;
    kind: "counter" | "gauge" | "histogram";
    help: string;
    samples: MetricSample[];
};

/**
 * One number. Of a histogram: `name` ends in `_bucket` (label `le`: at most so many seconds), `_count` or `_sum`.
 */
export type MetricSample = {
    name: string;
    labels: Record<string, string>;
    value: number;
};

/**
 * `format` prometheus asks for the text that Prometheus reads, too.
 */
export type MetricsParams = {
    format?: "json" | "prometheus";
};

/**
 * `text` is null unless it was asked for.
 */
export type MetricsResult = {
    families: MetricFamily[];
    text: string | null;
};

/**
 * Takes nothing.
 */
export type NoParams = Record<string, never>;

/**
 * The snapshot of one thread. `sequence` is the last event it includes. `newThreadId` is the thread that it went on as after `/new`. `firstTurn` turns stand before the first one of `turns`; more than 0 where only some were asked for.
 */
export type OrchestrationThread = {
    id: string;
    name: string | null;
    cwd: string;
    projectId: string | null;
    worktreeId: string | null;
    branchName: string | null;
    archived: boolean;
    createdAt: string;
    sequence: number;
    threadSequence: number;
    contextTrimPoints: ContextTrimPoint[];
    turns: ThreadTurn[];
    turnCount: number;
    activeTurnCount: number;
    messageCount: number;
    activeMessageCount: number;
    session: ThreadSession;
    operation: ThreadOperation | null;
    pendingRequests: PendingRequest[];
    checkpoints: ThreadCheckpoint[];
    compactionCount: number;
    context: ContextStatus;
    readOnly: string | null;
    pins?: ContextPin[];
    newThreadId?: string | null;
    firstTurn?: number;
};

/**
 * A request of Codex (approval, user input, tool call) that is not answered yet.
 */
export type PendingRequest = {
    id: string;
    method: string;
    since: string;
};

/**
 * `/pin`: the `turns`, each a number counted from 1 or an id, stay in the context word for word, whatever is trimmed; without any, the last one. A `note` without a turn is a sentence of the person that stays. `force` pins also what is more than pins may hold.
 */
export type PinContext = {
    type: "thread.context.pin";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    turns?: (string | number)[] | null;
    note?: string | null;
    force?: boolean;
};

/**
 * `profile` is the key of the launch profile; empty for the daemon's own. The rest says which daemon it is.
 */
export type ProfileChosen = {
    profile: string;
    pid: number;
    stateDir: string;
};

/**
 * What the client's Codex is launched with beyond what the daemon is configured with.
 *
 * `overrides` are Codex's `key=value`, as for `-c`; they come after the daemon's own. `codex` is the path of a binary, `codexHome` a `CODEX_HOME`; both absolute.
 */
export type ProfileParams = {
    overrides?: string[];
    codex?: string | null;
    codexHome?: string | null;
};

/**
 * A launch profile that runs beside the daemon's own. `overrides` are those that its clients brought, `clients` how many are connected, `threads` how many are bound to it.
 */
export type ProfileStatus = {
    profile: string;
    overrides: string[];
    codexHome: string;
    clients: number;
    threads: number;
    codex: CodexStatus;
};

/**
 * `threadIds`: whose checkpoints go; without it, those of all threads that this daemon does not know, deleted ones above all.
 *
 * `all`: everything of ours goes from the repositories, whosever it is: no file can be reverted any more. With `dryRun`, nothing is deleted; it is the default.
 */
export type PruneParams = {
    folder?: string | null;
    threadIds?: string[] | null;
    all?: boolean;
    dryRun?: boolean;
};

/**
 * Whose checkpoints went, or would. `kept`: folders that stay, because a restore has saved files of yours in them.
 */
export type PruneResult = {
    repositories: RepositoryStorage[];
    refs: number;
    deleted: boolean;
    kept?: string[];
};

/**
 * Give the thread a name a person chose.
 */
export type RenameThread = {
    type: "thread.rename";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    name: string;
};

/**
 * What checkpoints there are in one repository.
 *
 * `diskBytes` is what only they keep, null where git cannot tell; `problem` says what could not be found out.
 */
export type RepositoryStorage = {
    repository: string;
    threads: ThreadRefs[];
    diskBytes: number | null;
    problem: string | null;
};

/**
 * What to look at: the fields of `thread.checkpoint.revert`.
 */
export type RevertPreviewParams = {
    threadId: string;
    turnId?: string | null;
    turnCount?: number | null;
    undo?: boolean;
    scope?: "context" | "files+context";
    force?: boolean;
};

/**
 * Take the thread back to where it was after a turn: its files, its context, its ledger.
 *
 * The turn is named by `turnId`, or by `turnCount`, how many turns stay (0: back to before the first); with neither, the last turn is taken back. `undo` takes back the last revert instead. `scope` `context` leaves files alone. `force` restores files that another program has changed since the thread last looked; a safety checkpoint has them still.
 */
export type RevertToCheckpoint = {
    type: "thread.checkpoint.revert";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    turnId?: string | null;
    turnCount?: number | null;
    undo?: boolean;
    scope?: "context" | "files+context";
    force?: boolean;
};

/**
 * What a revert did to the files, or would do: at most a thousand paths of each kind.
 *
 * `kept`: changed by others since, so not touched. `refusals`: a sentence for each file of others that stands against it.
 */
export type RevertedFiles = {
    written: string[];
    removed: string[];
    kept: string[];
    refusals?: string[];
};

/**
 * The document as text.
 */
export type SessionContent = {
    format: "markdown" | "unified" | "unified-json";
    content: string;
};

/**
 * `cwd` is where the new thread works, else where the session did. `last`: only so many of the newest turns. `compact`: the thread is compacted at once.
 */
export type SessionContinueParams = {
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    cwd?: string | null;
    last?: number | null;
    compact?: boolean;
};

/**
 * `includeCompacted`: with the messages that a summary replaced or a rewind took back.
 */
export type SessionExportParams = {
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    format?: "markdown" | "unified" | "unified-json";
    includeCompacted?: boolean;
};

/**
 * The last changed one first; `nextCursor` is null when nothing older is left.
 */
export type SessionList = {
    sessions: SessionOverview[];
    nextCursor: string | null;
};

/**
 * `since` is a time. Title, first prompt, folder or id must have all words of `search`.
 */
export type SessionListParams = {
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    cwd?: string | null;
    since?: string | null;
    search?: string | null;
    cursor?: string | null;
    limit?: number | null;
};

/**
 * A session for lists.
 *
 * `title` is its name, else null; `firstPrompt` begins its first prompt. `clears` counts where it was begun anew, `compactions` where a summary took the place of messages. `tokens` are all that its own model calls used. Counts are null for a log that is too large to be counted for a list. `lineage` is the id of the session that it was forked from, cleared from or spawned by, and `lineageKind` says which. `problem` says why it could not be read.
 */
export type SessionOverview = {
    id: string;
    agent: "claude" | "codex" | "gemini" | "trimpoint";
    title: string | null;
    firstPrompt: string | null;
    cwd: string | null;
    createdAt: string | null;
    updatedAt: string | null;
    turns: number | null;
    messages: number | null;
    tokens: number | null;
    clears: number | null;
    compactions: number | null;
    rewinds: number | null;
    lineage: string | null;
    lineageKind: "cleared" | "forked" | "spawned" | null;
    model: string | null;
    files: string[];
    bytes: number;
    problem?: string | null;
};

/**
 * `sessionId` is an id, or the end of one; `agent` where two agents have the same.
 */
export type SessionReadParams = {
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    includeCompacted?: boolean;
    cursor?: string | null;
    limit?: number | null;
};

/**
 * Records of the unified form, in order. They are in snake_case, as in files.
 */
export type SessionRecords = {
    records: (Record<string, any>)[];
    nextCursor: string | null;
};

/**
 * The daemon itself. `http` is its address over TCP, null where it does not listen there.
 */
export type SidecarStatus = {
    version: string;
    pid: number;
    uptimeS: number;
    stateDir: string;
    clients: number;
    threads: number;
    sequence: number;
    codex: CodexStatus;
    http?: string | null;
    profiles?: ProfileStatus[];
};

/**
 * One thread, or all when `threadId` is left out.
 *
 * With `turns` the one has only so many of its newest turns, the checkpoints of those, and no `prunedTurnIds`; so the size of the answer does not grow with the thread. `beforeTurn` asks for the turns before that one, counted from 0: the next page.
 */
export type SnapshotParams = {
    threadId?: string | null;
    turns?: number | null;
    beforeTurn?: number | null;
};

/**
 * `thread` for one, `threads` for all. `clients` is how many take part in the one, the asking one included.
 */
export type SnapshotResult = {
    thread: OrchestrationThread | null;
    threads: ThreadOverview[];
    clients?: number | null;
};

/**
 * Make the thread's session ready now instead of with its next turn.
 */
export type StartSession = {
    type: "thread.session.start";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * Release the provider thread; the next turn resumes it.
 */
export type StopSession = {
    type: "thread.session.stop";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * `folder`: the repository that it lies in; without it, those that threads work in.
 */
export type StorageParams = {
    folder?: string | null;
};

/**
 * `afterSequence`: replay the events after it instead of sending a snapshot, where that is possible.
 *
 * A number is given to one event only, for ever: where the journal was restored from a backup, a number of the lost history gets a snapshot. `turns`: the snapshot has only so many turns, as in `orchestration/snapshot`.
 */
export type SubscribeParams = {
    threadId: string;
    afterSequence?: number | null;
    turns?: number | null;
};

/**
 * `mode` snapshot: `thread` is the state to start from. `mode` replay: the missed events follow as notifications.
 *
 * Then `orchestration/synchronized`, then live events.
 */
export type SubscribeResult = {
    mode: "replay" | "snapshot";
    thread: OrchestrationThread | null;
    sequence: number;
};

/**
 * Everything up to `sequence` has been sent; what follows is live.
 */
export type Synchronized = {
    threadId: string;
    sequence: number;
};

/**
 * A snapshot of the worktree. `moment`: before | after (of the turn) | safety (before a revert, of no turn).
 *
 * `commit` is null when there is none; `problem` says why. `notes` say what is not in it.
 */
export type ThreadCheckpoint = {
    turnId: string | null;
    moment: string;
    createdAt: string;
    repository: string | null;
    ref: string | null;
    commit: string | null;
    notes: string[];
    problem: string | null;
};

/**
 * A thread, its machine, and whether that is there.
 */
export type ThreadOnHost = {
    id: string;
    archived: boolean;
    updatedAt: string;
    generation: number;
    busy?: string | null;
    level?: string | null;
    usedTokens?: number | null;
    windowTokens?: number | null;
    percent?: number | null;
    turns?: number | null;
    trims?: number | null;
    compactions?: number | null;
    title?: string | null;
    cwd?: string | null;
    host: string;
    online: boolean;
};

/**
 * A clear, compact, start … under way or last ended.
 *
 * `phase`: requested | compacting | checkpointing | stopping | starting | bootstrapping | restoring | retrying, then ready | failed.
 */
export type ThreadOperation = {
    id: string;
    kind: string;
    phase: string;
    startedAt: string;
    message: string;
    trigger: string | null;
};

/**
 * A line of the thread list; `busy` names what is under way, null when idle or not loaded.
 *
 * `context` is the thread's meter; of a thread that is not loaded it holds what was last reported, and is null when that is not known. `preview` is the beginning of the first prompt. `turns`, `trims` and `compactions` are null when the daemon has not opened the thread since it learned to count them; `trims` took entries out of the context, `compactions` put a summary in their place, Codex's own included. `newThreadId` is the thread that this one went on as after `/new`.
 */
export type ThreadOverview = {
    id: string;
    name: string | null;
    cwd: string;
    archived: boolean;
    createdAt: string;
    updatedAt: string;
    generation: number;
    loaded: boolean;
    busy: string | null;
    context?: ContextStatus | null;
    preview?: string;
    turns?: number | null;
    trims?: number | null;
    compactions?: number | null;
    newThreadId?: string | null;
};

/**
 * Names a thread.
 */
export type ThreadParams = {
    threadId: string;
};

/**
 * The checkpoints of one thread. `known`: whether this daemon has the thread in its books.
 */
export type ThreadRefs = {
    threadId: string;
    known: boolean;
    refs: number;
    newestAt: string;
};

/**
 * `status`: `ready` (context in place), `pending` (opens with the next turn or operation), `stopped`.
 */
export type ThreadSession = {
    status: "pending" | "ready" | "stopped";
    generation: number;
    generationReason: string;
};

/**
 * One user prompt and all that answers it; `status`: running | completed | interrupted | failed.
 */
export type ThreadTurn = {
    id: string;
    status: string;
    startedAt: string;
    completedAt: string | null;
    error: string | null;
    trimmed: boolean;
};

/**
 * A command, file change, tool call, reasoning or provider compaction; `detail` is Codex's own item.
 */
export type TimelineActivity = {
    kind: "activity";
    id: string;
    turnId: string;
    activity: string;
    title: string;
    createdAt: string;
    trimmed: boolean;
    trimPointId: string | null;
    detail: any;
};

/**
 * A prompt of the user or an answer of the agent; `detail` is Codex's own item where it holds more than text, such as an image. `trimmed`: no longer in the agent's context, since that trim point.
 */
export type TimelineMessage = {
    kind: "message";
    id: string;
    turnId: string;
    role: string;
    text: string;
    createdAt: string;
    trimmed: boolean;
    trimPointId: string | null;
    detail?: any;
};

/**
 * Oldest first within the page; `nextCursor` is null when nothing older is left.
 */
export type TimelinePage = {
    entries: (ContextSummaryBanner | ContextTrimPointDivider | TimelineActivity | TimelineMessage)[];
    nextCursor: string | null;
};

/**
 * Pages go back from the newest; `expand` names trim points whose pruned section is wanted, or "all".
 */
export type TimelineParams = {
    threadId: string;
    expand?: "all" | string[] | null;
    cursor?: string | null;
    limit?: number | null;
};

/**
 * What the context held before a trim and holds after it, in the tokens of `context/status`.
 *
 * `after` is null where it cannot be known yet. `note` says why a figure is an estimate or leaves something out, if it is or does.
 */
export type TokenChange = {
    before: number;
    after: number | null;
    beforeEstimated: boolean;
    afterEstimated: boolean;
    note: string | null;
    windowTokens?: number | null;
    beforePercent?: number | null;
    afterPercent?: number | null;
};

/**
 * A trim that would help. `afterTokens` is null where only the summary will tell; `percent` is of the window then. `text` says it in a sentence.
 */
export type TrimAdvice = {
    command: string;
    freesTokens: number | null;
    afterTokens: number | null;
    percent: number | null;
    text: string;
};

/**
 * `/clear [N]`: keep the last `keepLastNTurns` turns of the active context; absent or 0 keeps nothing.
 *
 * With `summary`, the text stands in the new context for what was pruned. `force` keeps turns word for word that Codex has compacted automatically, though the context becomes larger by it.
 */
export type TrimContext = {
    type: "thread.context.trim";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    keepLastNTurns?: number | null;
    summary?: string | null;
    trigger?: string | null;
    force?: boolean;
};

/**
 * The files around a turn. `number` counts from 1, pruned turns too; 0 is the time before the first, with null `turnId`.
 *
 * `commit` holds the files after it, null if there is no checkpoint: then `problem` says why. `notes` say what is not in it. `changed` is what the turn changed, null when that is not known or was not asked for.
 */
export type TurnCheckpoint = {
    number: number;
    turnId: string | null;
    prompt: string;
    status: string | null;
    trimmed: boolean;
    capturedAt: string | null;
    commit: string | null;
    ref: string | null;
    notes: string[];
    problem: string | null;
    changed: FilesChanged | null;
};

/**
 * Bring an archived thread back.
 */
export type UnarchiveThread = {
    type: "thread.unarchive";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * `/undo`: take back the last trim of any kind; the context is what it was before, with the turns since. Files stay as they are.
 *
 * `redo` makes the trim again that was undone last. `trimPointId`, when given, must be that trim: so of two clients that undo at once, one does. `force` undoes it also where the context will not fit, or where turns come back word for word that Codex had compacted automatically.
 */
export type UndoTrim = {
    type: "thread.context.undo";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    redo?: boolean;
    trimPointId?: string | null;
    force?: boolean;
};

/**
 * `/unpin`: the `pins`, each a number as `/pins` lists them or an id, stand no more; without any, the one that was made last.
 */
export type UnpinContext = {
    type: "thread.context.unpin";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    pins?: (string | number)[] | null;
};

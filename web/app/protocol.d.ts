// Made by scripts/generate-docs from protocol/trimpoint_protocol. Do not edit.

/**
 * `/accept`: do what the thread's draft was made for, with `text` in place of what the model wrote, unless it is absent. Of a summary, turns that ran since stay word for word. `draftId`, when given, must be the id of the draft that would be accepted, or its end.
 */
export type AcceptDraft = {
    type: "thread.draft.accept";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    draftId?: string | null;
    text?: string | null;
};

/**
 * The client's answer to a question of the agent was ignored: the question was answered, resolved or expired before, or was never asked.
 */
export type AnswerIgnored = {
    reason: string;
    requestId: number | string | null;
};

/**
 * `/new`: archive the thread and create one with the same project, worktree, branch and settings.
 *
 * `newThreadId`, when given, must be an unused UUID. With `pins` the new thread begins with the pins of this one: notes first, then the pinned turns as its first turns.
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
 * Archive the thread; it stays listed and readable.
 */
export type ArchiveThread = {
    type: "thread.archive";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * The state of automatic compaction. `mode`: off | warn | mask | compact, as configured, or as chosen for this thread (`isChosen`).
 *
 * `state`: `idle`; `due` (the thread is compacted as soon as it is idle, before its next turn); `running`; `stopped` (the last attempts failed or freed too little, or the context was full again within a turn each time: no more attempts until a person compacts or clears, or the usage falls). `message` is a sentence for a person, "" when there is nothing to say. It is made of `said` and `hints`, which are commands that help, as they are typed in a chat.
 */
export type AutoCompaction = {
    mode: "compact" | "mask" | "off" | "warn";
    state: "due" | "idle" | "running" | "stopped";
    message: string;
    said?: string;
    hints?: CommandHint[];
    isChosen?: boolean;
};

/**
 * What keeps a thread busy. `kind` is `turn`, `operation` or `request`; `since` is a time (RFC 3339).
 */
export type Blocker = {
    kind: "operation" | "request" | "turn";
    id: string;
    since: string;
    detail?: string;
};

/**
 * `operationId` names the operation to cancel; the command's progress has it.
 */
export type CancelParams = {
    operationId: string;
};

/**
 * `cancelled` is false when the operation is not a running compaction, or its summary has arrived already.
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
 * Two moments to compare. A moment is a turn's number or id (its end; 0 is before the first turn), a commit, `safety`, or `now` (the files as they are).
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
 * Names a file as `checkpoint/diff` does, and a moment that has a checkpoint: not `now`.
 */
export type CheckpointFileParams = {
    threadId: string;
    moment: string;
    path: string;
};

/**
 * Turns in order, oldest first. `older` counts the turns before these. `safety` is the commit that holds the files as they were before the last revert.
 */
export type CheckpointList = {
    repository: string | null;
    turns: TurnCheckpoint[];
    older: number;
    safety: string | null;
};

/**
 * `limit` is the number of turns, newest ones. `changes` false leaves out what each turn changed, which has to be computed.
 */
export type CheckpointListParams = {
    threadId: string;
    limit?: number;
    changes?: boolean;
};

/**
 * Checkpoints by repository; threads whose folder is in no repository are left out.
 */
export type CheckpointStorage = {
    repositories: RepositoryStorage[];
};

/**
 * The items of one class and their tokens. An item that Codex wrote can hold parts of several classes: it is counted as an item in the class of its first part, and its tokens in the class of each part.
 */
export type ClassTotal = {
    class: "assistant" | "environment" | "image" | "instructions" | "other" | "pinned" | "projectDocs" | "reasoning" | "skills" | "summary" | "toolCall" | "toolResult" | "tools" | "user";
    count: number;
    estTokens: number;
    share: number | null;
};

/**
 * The Codex process. `state`: connected | idle (not needed yet) | unavailable, and then `problem` says why.
 *
 * `overrides` are the `-c` values that it runs with, in order.
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
 * A text for a person to read and change before anything is done with it. `accept` is the command that does it; a client types the person's text behind it. Until then nothing has changed. `anew` is the command that has the model write another one, what it is to mind typed behind it; null where no model wrote it.
 */
export type CommandDraft = {
    text: string;
    accept: string;
    anew?: string | null;
};

/**
 * A command that helps on, as it is typed in a chat (`/clear N`), and what it does, which continues the sentence (`keeps the last N turns`).
 */
export type CommandHint = {
    command: string;
    text: string;
};

/**
 * A slash command, for menus and help.
 *
 * `asksWith`: where this is given, a command of nothing but its name and some of these switches does not say yet which turns it means; a client that can ask lets a person choose them.
 */
export type CommandInfo = {
    name: string;
    usage: string;
    summary: string;
    details: string;
    asksWith?: string[] | null;
};

/**
 * Slash commands, in menu order.
 */
export type CommandList = {
    commands: CommandInfo[];
};

/**
 * How a slash command ended. `handled` is false when the input is not a command of ours; then nothing was done.
 *
 * `status`: completed | skipped (nothing changed, and need not) | failed | cancelled (by a person, and nothing changed). A command that did not complete has a `reason`, one of the error reasons, and a `blocker` when the thread was busy. `tokens` describes a trim, `files` a revert.
 *
 * What a person reads has parts, so that each client can word them: `said` is what happened, `hints` are commands that help on, `undo` is the command that takes this one back. Commands are written as they are typed in a chat, such as `/undo`. `message` is all of it in one text.
 *
 * `newThreadId` is the thread that `/new` or `/handoff` made or, where the thread is archived, the one that continues it. With `dryRun` nothing was changed, and the answer says what the command would do. `operationId` is the id that its progress has, where the command started an operation. `draft` is what the person is to decide about; `message` has its text too. `trims` marks a command that takes something out of the agent's context. `stats` sums all threads.
 */
export type CommandOutcome = {
    handled: boolean;
    command?: string | null;
    status?: "cancelled" | "completed" | "failed" | "skipped" | null;
    reason?: string | null;
    message?: string | null;
    said?: string | null;
    hints?: CommandHint[];
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
    draft?: CommandDraft | null;
    trims?: boolean | null;
    stats?: Stats | null;
};

/**
 * A step of a slash command; `phase`: compacting | stopping | starting | bootstrapping | retrying | ready | failed | cancelled.
 *
 * `trigger` "auto" marks an automatic compaction or mask, which all clients that are subscribed to the thread or follow it are notified of. `command` "overflow" marks the retry of a turn that did not fit, which nobody typed; every client of the thread is notified.
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
 * `/compact`: summarize the active context, then trim it, keeping the last `keepLastNTurns` turns word for word.
 *
 * `model` writes the summary in place of the thread's own or the configured model; the thread keeps its model. Without `force`, a compaction is refused when there are fewer messages than the configured minimum, or when it would keep turns that Codex has compacted automatically, and a summary that is no smaller than what it replaces is not accepted.
 *
 * With `fromTurn` or `throughTurn`, as in `thread.context.trim`, exactly these turns are summarized, and the summary stands in their place: `/compact 4..12`.
 *
 * With `edit` the summary is only drafted, and the context stays what it is until `thread.draft.accept`.
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
    fromTurn?: number | null;
    throughTurn?: number | null;
    edit?: boolean;
};

/**
 * `text` is the input typed so far.
 */
export type CompleteParams = {
    text: string;
};

/**
 * The segments of one kind that `/compress` discards.
 */
export type CompressionClass = {
    kind: string;
    count: number;
    estTokens: number;
};

/**
 * The segments that `/compress` would discard, by kind in the order of its priority, and before them those whose output it would mask; `leftEstTokens` is the weight of what stays.
 */
export type CompressionPreview = {
    classes: CompressionClass[];
    entryIds: string[];
    totalEstTokens: number;
    leftEstTokens: number;
    targetTokens: number;
    floorTokens: number;
    maskedEntryIds?: string[];
    maskedCount?: number;
    maskedEstTokens?: number;
};

/**
 * The trims that would help, the best first. `advice` is empty while the level is ok or unknown.
 */
export type ContextAdvice = {
    threadId: string;
    level: "critical" | "ok" | "warning" | null;
    advice: TrimAdvice[];
};

/**
 * The model's input before the next prompt, in order.
 *
 * `estimatedTokens` is the sum over the items. `usedTokens` is the meter's figure, measured by a model call where `estimated` is false. `overheadTokens` is the difference: tools, whose definitions Codex does not report, and the error of the estimates. `note` says what is not known of the items, or why `usedTokens` is an estimate. `predicted`: Codex has not written its own items for this session yet, so those of the session before are shown.
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
 * `shortId` is for people and agents and means the same for as long as the context does. `role`: user | assistant | tool. `kind`: message | fileRead | command | check | fileChange | plan | title | toolCall | contextTool | history | summary. `protected` says why it stays: newest | codeChange | plan | finalAnswer | summary | pinned | injected | notRecorded; null when it may go. `masked` says that one line is in the place of its output or image.
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
    masked?: boolean;
};

/**
 * The segments in the order in which the model sees them. No discard leaves less than `floorTokens`; `/compress` stops at `targetTokens`.
 *
 * `refusal` says why nothing can be discarded at present; null when something can.
 */
export type ContextMessageList = {
    messages: ContextMessage[];
    totalEstTokens: number;
    targetTokens: number;
    floorTokens: number;
    refusal: string | null;
};

/**
 * A part of the context that stays whatever is trimmed: a turn, or a note of the person.
 *
 * `number` is its place in the list, `turn` the turn's number counted from 1, null for a note. `carried`: the pin stands behind the summary, because its turn was trimmed or it is a note; otherwise the turn stands at its own place.
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
 * How full the agent's context is, in tokens. `usedTokens` is the figure that Codex calls `last.totalTokens`.
 *
 * `unknown`: Codex has not reported the size of the context yet, as after a trim, and `usedTokens` is the daemon's estimate. `estimated`: `usedTokens` was not measured by a model call; after an overflow it is the whole window. `windowTokens` is Codex's `modelContextWindow`, else the configured size for the model, else null. Where it is null, so are `percent` (used of window), `level` (ok | warning | critical) and `providerCompactsAtTokens` (where Codex would compact automatically). `leftPercent` is the figure that Codex's own interface shows: it leaves out the first 12,000 tokens, taken for instructions and tools, so that it and `percent` do not add up to 100.
 *
 * `current…` counts the model calls since the last trim, `total…` those of the whole thread; cached tokens are part of the input, reasoning tokens part of the output. `compactionCount` counts trim points with a summary, `providerCompactionCount` Codex's own compactions. `generation` and `auto` are null for a sub-agent's thread, which is not recorded. `note` says why `usedTokens` is an estimate or what it leaves out, null where it is measured.
 *
 * `cachedPercent` is how much of the last call's input came from the provider's cache, which keeps it until `cacheExpiresAt` if no other call is made; null where that is not known.
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
    cachedPercent?: number | null;
    cacheExpiresAt?: string | null;
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
 * A boundary in the ledger: entries before it are no longer in the agent's context. Or a discard, which took out single entries (`trimKind`).
 *
 * `beforeEntryId` is the last entry before the boundary, null when the ledger was empty. The counts are of entries that this trim point newly excluded. `status`: `pending` until the new session is ready, then `applied`; `deferred` when the session could not be started yet and the next turn will start it. A discard prunes no turn; `discardedEntryIds` names the entries that it took out, and `estTokens` is their estimated weight. `maskedEntryIds` names the entries whose output or images it replaced by one line; `estTokens` has what that freed too. `turnsBefore` is the number of turns before it in the thread.
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
    maskedEntryIds?: string[];
};

/**
 * A trim point. `hiddenMessageCount` counts the messages of the section above it, whether that is expanded or not.
 *
 * `trimKind` is `boundary` or `discard`. At a discard nothing is hidden, and the count is of the entries that were taken out, which stay at their places and are flagged. `pinnedCount` counts the turns that the trim took out but that are pinned, and so still in the context. `maskedCount` counts the entries that a discard masked.
 */
export type ContextTrimPointDivider = {
    kind: "contextTrimPointDivider";
    trimPointId: string;
    label: string;
    hiddenMessageCount: number;
    expanded: boolean;
    trimKind: "boundary" | "discard";
    pinnedCount?: number;
    maskedCount?: number;
};

/**
 * The new thread: it holds `turns` turns and `items` items, about `estTokens` tokens; `leftOut` lists what of the session's live context it does not hold.
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
 * One of the two moments. `commit` is null for `now`. `notes` say which files its checkpoint leaves out.
 */
export type DiffSide = {
    label: string;
    commit: string | null;
    capturedAt: string;
    notes: string[];
};

/**
 * Take single entries out of the agent's context: those named by `entryIds` (see `context/messages/list`), or, with `targetTokens`, those that `/compress` would take.
 *
 * A tool call leaves together with its result and the reasoning before it. Either everything that was named is discarded, or nothing. Towards `targetTokens`, output is masked first (`thread.context.mask`), and discarded is what is needed beyond that; with `onlyDiscard` nothing is masked.
 */
export type DiscardContext = {
    type: "thread.context.discard";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    entryIds?: string[] | null;
    targetTokens?: number | null;
    trigger?: string | null;
    onlyDiscard?: boolean;
};

/**
 * One command; its `type` says which.
 */
export type DispatchParams = {
    command: AcceptDraft | ArchiveAndNew | ArchiveThread | CompactContext | DiscardContext | DraftHandoff | EditQueuedPrompt | EditSummary | MaskContext | PinContext | QueuePrompt | ReleaseQueue | RenameThread | ReorderQueue | RevertToCheckpoint | SetAuto | StartSession | StopSession | TrimContext | UnarchiveThread | UndoTrim | UnpinContext | WithdrawQueuedPrompt;
};

/**
 * The command is durable. `sequence` is that of its last event. Its effects (a new session, files) may still be under way.
 */
export type DispatchResult = {
    sequence: number;
    events: EventEnvelope[];
    operationId: string | null;
};

/**
 * `/handoff`: have the model write a brief of this conversation for the `goal`. Once `thread.draft.accept` takes it, it is the first prompt of a new thread in the same folder, with the same settings; this thread stays as it is.
 */
export type DraftHandoff = {
    type: "thread.handoff.draft";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    goal?: string | null;
};

/**
 * Replace a queued prompt by another `input`; it keeps its place.
 */
export type EditQueuedPrompt = {
    type: "thread.queue.update";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    promptId: string;
    input: (Record<string, any>)[];
};

/**
 * `/summary edit`: put `text` in the place of the summary that the context begins with. All else stays, and `/undo` brings the former one back.
 */
export type EditSummary = {
    type: "thread.summary.edit";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    text: string;
};

/**
 * Done.
 */
export type Empty = Record<string, never>;

/**
 * One journaled event.
 *
 * `sequence` orders the events of all threads, `threadSequence` those of one thread without gaps. `askedBy` names the person of a fleet who gave the command from another host.
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
 * `dryRun` is the same as `--dry-run`, for the commands that have it.
 */
export type ExecuteParams = {
    text: string;
    threadId?: string | null;
    commandId?: string | null;
    dryRun?: boolean;
};

/**
 * `pruned`: include entries that are no longer in the agent's context; `includeCompacted` is the same for the format `unified`, which is the one for sessions of all agents.
 */
export type ExportParams = {
    threadId: string;
    format?: "json" | "markdown" | "unified";
    pruned?: boolean;
    includeCompacted?: boolean;
};

/**
 * The document as text. In the format JSON it is an object with `thread` and `entries`, which are as in `timeline/read`.
 */
export type ExportResult = {
    format: string;
    content: string;
};

/**
 * One file that differs. Lines are counted unless it is `binary`. Bytes of a path that are not UTF-8 are shown as `\\xff`.
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
 * A file as it was. `text` is null if it is `binary`; it is cut after 16 MiB if `truncated`.
 */
export type FileContent = {
    path: string;
    text: string | null;
    binary: boolean;
    truncated: boolean;
};

/**
 * How many files and lines differ; binary files count as files only.
 */
export type FilesChanged = {
    files: number;
    additions: number;
    deletions: number;
};

/**
 * Names a thread on a host; `limit` is the number of newest events wanted.
 */
export type FleetEventsParams = {
    host: string;
    threadId: string;
    limit?: number;
};

/**
 * Events as the hub has them, oldest first; `earlier` counts older ones that are left out.
 */
export type FleetEventsResult = {
    events: EventEnvelope[];
    earlier: number;
};

/**
 * A command for a thread on another host. A repeated `commandId` is carried out once.
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
 * The hosts and threads of a team.
 *
 * `host` is the name of this machine. `person` is the person of the daemon's `person_credentials`; null where the daemon shows no fleet. `mayCommand`: that person may clear, compact and interrupt. The newest thread comes first.
 */
export type FleetOverview = {
    host?: string | null;
    person?: string | null;
    mayCommand?: boolean;
    hosts: HostPresence[];
    threads: ThreadOnHost[];
};

/**
 * An entry with its whole text: of a message, what was said; of a command, the command and its output; of a file change, the diff; of a tool call, its arguments and result. `truncated`: the text is cut because the answer would be too large.
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
 * Consecutive entries, oldest first, and whether there are more before and after.
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
 * `entryId` is an entry's id or short id; `turnId` names its turn where ids are used several times. `before` and `after` are how many entries around it are wanted.
 */
export type HistoryReadParams = {
    threadId: string;
    entryId: string;
    turnId?: string | null;
    before?: number;
    after?: number;
};

/**
 * Finds the entries that have all words of `query`; where there are none, those that have all but one word. Words in double quotes must follow each other, `conf*` finds words that begin so. Case and accents do not count, and parts of identifiers are words.
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
 * Hits, the best first; of equal ones the newest first. `nextCursor` is null when nothing more matches. `unread` counts the threads that are not completely indexed yet.
 */
export type HistorySearchResult = {
    hits: HistoryHit[];
    nextCursor: string | null;
    unread: number;
};

/**
 * A connected host. `behind` counts threads whose newest events the hub does not have yet, `notMirrored` threads that it does not receive; `content` is how much of a conversation the host sends.
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
 * One item of the model's next input. `share` is its part of the window, null while the window's size is unknown.
 *
 * `turnId`, `entryId` and `shortId` are null for items that Codex wrote itself and the ledger does not know. `protected` is as in `context/messages/list`. `parts` has the tokens of each class, if the item holds several.
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
    parts?: Record<string, number> | null;
};

/**
 * An item of a running turn that is not completed yet: Codex's own item, with what was streamed of it so far, and of a command's output the end. The notifications after the answer go on from it, so show it in place of what was shown of the item before.
 */
export type LiveItem = {
    turnId: string;
    item: any;
};

/**
 * `url` logs in the first browser that opens it, within `expiresInS` seconds. `codexHome` is the Codex home that its page uses.
 */
export type LoginUrl = {
    url: string;
    expiresInS: number;
    codexHome?: string | null;
};

/**
 * `listen`: open a loopback address for HTTP if there is none yet. `ownHome`: the page uses the Codex home that this client uses, not the daemon's own; only a daemon that runs in the background allows that.
 */
export type LoginUrlParams = {
    listen?: boolean;
    ownHome?: boolean;
};

/**
 * Replace the output of the entries named by `entryIds` (see `context/messages/list`) by one line in what the agent is sent; of a message, its images. The calls, the reasoning and the messages stay. Either everything that was named is masked, or nothing.
 *
 * With `fromTurn` or `throughTurn`, as in `thread.context.trim`, it is all output of these turns that may be masked: `/mask 4..12`.
 */
export type MaskContext = {
    type: "thread.context.mask";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    entryIds?: string[] | null;
    fromTurn?: number | null;
    throughTurn?: number | null;
};

/**
 * The samples of one metric. `kind`: a counter only grows, from 0 at the daemon's start.
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
 * `format` "prometheus" adds the text that Prometheus reads.
 */
export type MetricsParams = {
    format?: "json" | "prometheus";
};

/**
 * The metrics of the daemon. `text` is null unless it was requested.
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
 * Something that a person who looks elsewhere may want to know: a turn has ended, the agent waits for an answer, the context has become critical, it was trimmed automatically, or a compaction has failed.
 *
 * `said` is a sentence. `title` is the thread's name, else the name of its folder, for nothing of the conversation is in it unless the configuration asks for that.
 */
export type Notice = {
    threadId: string;
    event: "asks" | "automatic" | "critical" | "done" | "failed";
    said: string;
    title: string;
    folder: string;
};

/**
 * The snapshot of one thread. `sequence` is the last event that it includes. `newThreadId` is the thread that continues it after `/new`, `handoffs` are those that `/handoff` began, and `parentThreadId` is the thread that it was itself begun from. `firstTurn` is the number of turns before the first one in `turns`: more than 0 where only some were requested.
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
    queue?: QueuedPrompt[];
    queueHold?: QueueHold | null;
    handoffs?: ThreadHandoff[];
    parentThreadId?: string | null;
};

/**
 * A request of Codex (approval, user input, tool call) without an answer yet, or, with the `method` `subAgent`, a sub-agent that is at work.
 */
export type PendingRequest = {
    id: string;
    method: string;
    since: string;
};

/**
 * `/pin`: keep `turns`, each a number counted from 1, an id or an entry (`h3.2`), in the context word for word, whatever is trimmed; without any, the last turn. A `note` without a turn pins that sentence. `force` pins more than pins may hold.
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
 * The answer to `sidecar/profile`. `profile` is the key of the launch profile, empty for the daemon's own. The other members identify the daemon.
 */
export type ProfileChosen = {
    profile: string;
    pid: number;
    stateDir: string;
    version?: string | null;
};

/**
 * The launch profile that a client requests: what its Codex is started with beyond the daemon's configuration.
 *
 * `overrides` are Codex's `key=value`, as for `-c`; they come after the daemon's own. `codex` is the path of a binary, `codexHome` a `CODEX_HOME`; both absolute.
 */
export type ProfileParams = {
    overrides?: string[];
    codex?: string | null;
    codexHome?: string | null;
};

/**
 * A launch profile that runs beside the daemon's own. `overrides` are those that its clients requested; `clients` counts the connected clients, `threads` the threads that are bound to it.
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
 * `threadIds`: the threads whose checkpoints are deleted; without it, those of all threads that this daemon does not know, deleted ones above all.
 *
 * `all` removes everything of trimpoint's from the repositories, whichever thread it belongs to; afterwards no file can be reverted. With `dryRun`, the default, nothing is deleted.
 */
export type PruneParams = {
    folder?: string | null;
    threadIds?: string[] | null;
    all?: boolean;
    dryRun?: boolean;
};

/**
 * The checkpoints that were deleted, or would be. `kept`: folders that remain because a restore has saved files of yours in them.
 */
export type PruneResult = {
    repositories: RepositoryStorage[];
    refs: number;
    deleted: boolean;
    kept?: string[];
};

/**
 * Why no queued prompt is sent. `reason`: `interrupted` (a person interrupted the turn before), `failed` (that turn failed) or `refused` (the first prompt was not accepted); `message` is the error, empty if there is none.
 *
 * The next turn that begins ends it, as does the command `thread.queue.start`.
 */
export type QueueHold = {
    reason: string;
    message: string;
};

/**
 * Queue a prompt: it is sent when the thread has nothing under way, behind the prompts that wait already, whether or not a client is connected; to an idle thread it is sent at once.
 *
 * `input` is that of Codex's `turn/start`, images included. The queue is kept by the daemon, in the thread's journal. When a turn fails or a person interrupts it, the queue is held.
 */
export type QueuePrompt = {
    type: "thread.queue.add";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    input: (Record<string, any>)[];
    clientUserMessageId?: string | null;
};

/**
 * A prompt that waits until the thread can take it. `input` is that of Codex's `turn/start`.
 */
export type QueuedPrompt = {
    id: string;
    clientUserMessageId: string;
    input: (Record<string, any>)[];
    queuedAt: string;
};

/**
 * Send the queued prompts of a queue that is held; with `promptId`, that one first.
 */
export type ReleaseQueue = {
    type: "thread.queue.start";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    promptId?: string | null;
};

/**
 * Set the name of the thread.
 */
export type RenameThread = {
    type: "thread.rename";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    name: string;
};

/**
 * Put the queued prompts `promptIds` first, in this order; the others follow as they are.
 */
export type ReorderQueue = {
    type: "thread.queue.reorder";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    promptIds: string[];
};

/**
 * The checkpoints in one repository.
 *
 * `diskBytes` is the disk space that only they take, null where git cannot measure it; `problem` says what could not be determined.
 */
export type RepositoryStorage = {
    repository: string;
    threads: ThreadRefs[];
    diskBytes: number | null;
    problem: string | null;
};

/**
 * The revert to preview: the fields of the command `thread.checkpoint.revert`.
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
 * `/revert`: take the thread back to where it was after a turn: files, context and ledger.
 *
 * The turn is named by `turnId`, which may also be an entry of it (`h3.2`) or the commit of the checkpoint after it, or by `turnCount`, the number of turns that stay (0: before the first turn); with neither, the last turn is taken back. `undo` takes back the last revert instead. `scope` `context` leaves files alone. `force` also restores files that another program has changed since the thread last captured them; the safety checkpoint still holds those changes.
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
 * What a revert did to the files, or would do. Each list has at most a thousand paths.
 *
 * `kept`: files that others have changed since, and that the revert leaves alone. `refusals`: a sentence for each file of others because of which the revert is refused.
 */
export type RevertedFiles = {
    written: string[];
    removed: string[];
    kept: string[];
    refusals?: string[];
};

/**
 * A whole session as one text, in the requested form.
 */
export type SessionContent = {
    format: "markdown" | "unified" | "unified-json";
    content: string;
};

/**
 * `cwd` is where the new thread works. Without it that is the folder of the session, if the client's process works there, too; else the request is refused. `last` carries over only so many of the newest turns. `compact` compacts the new thread at once.
 */
export type SessionContinueParams = {
    codexHome?: string | null;
    claudeHome?: string | null;
    geminiHome?: string | null;
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    cwd?: string | null;
    last?: number | null;
    compact?: boolean;
};

/**
 * `includeCompacted`: include the messages that a summary replaced or a rewind took back.
 */
export type SessionExportParams = {
    codexHome?: string | null;
    claudeHome?: string | null;
    geminiHome?: string | null;
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    format?: "markdown" | "unified" | "unified-json";
    includeCompacted?: boolean;
};

/**
 * A page of sessions, the last changed one first; `nextCursor` is null when nothing older is left.
 */
export type SessionList = {
    sessions: SessionOverview[];
    nextCursor: string | null;
};

/**
 * Filters for `sessions/list`. `since` is a time (RFC 3339). `search`: words that must all be in the title, first prompt, folder or id. `codexHome`, `claudeHome` and `geminiHome` are the folders of the client's agents, as in all four methods about sessions; without one, the daemon's.
 */
export type SessionListParams = {
    codexHome?: string | null;
    claudeHome?: string | null;
    geminiHome?: string | null;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    cwd?: string | null;
    since?: string | null;
    search?: string | null;
    cursor?: string | null;
    limit?: number | null;
};

/**
 * A session as a list shows it.
 *
 * `title` is its name, else null; `firstPrompt` is the beginning of its first prompt. `clears` counts how often it was restarted with an empty context, `compactions` how often a summary replaced messages. `tokens` are those that its own model calls used. Counts are null for a log that is too large to be counted for a list. `lineage` is the id of the session that it was forked from, cleared from or spawned by, and `lineageKind` says which. `problem` says why it could not be read.
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
 * `sessionId` is an id or the end of one; `agent` is needed where sessions of two agents match.
 */
export type SessionReadParams = {
    codexHome?: string | null;
    claudeHome?: string | null;
    geminiHome?: string | null;
    sessionId: string;
    agent?: "claude" | "codex" | "gemini" | "trimpoint" | null;
    includeCompacted?: boolean;
    cursor?: string | null;
    limit?: number | null;
};

/**
 * A page of a session's records in the unified form, in order. Their members are in snake_case, as in files.
 */
export type SessionRecords = {
    records: (Record<string, any>)[];
    nextCursor: string | null;
};

/**
 * `/auto`: what is done with this thread's context when it fills up, without being asked; a null `mode` goes back to the configuration. It holds at once, also while a turn runs.
 */
export type SetAuto = {
    type: "thread.auto.set";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    mode?: "compact" | "mask" | "off" | "warn" | null;
};

/**
 * `whenIdle`: only if no turn, operation or background terminal of any thread is under way, and all that was recorded is durable; else nothing is done.
 */
export type ShutdownParams = {
    whenIdle?: boolean;
};

/**
 * `stopping` is false where `whenIdle` was asked for and something is under way.
 */
export type ShutdownResult = {
    stopping?: boolean;
};

/**
 * The state of the daemon. `http` is its address over TCP, null where it does not listen there.
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
 * Names one thread; without `threadId`, an overview of all is returned.
 *
 * With `turns` the snapshot has only so many of the newest turns, with their checkpoints, and no `prunedTurnIds`, so that its size does not grow with the thread. `beforeTurn` asks for the turns before that one, counted from 0: the next page. `threadIds` limits the overview to these threads; there need not be a thread of each id.
 */
export type SnapshotParams = {
    threadId?: string | null;
    threadIds?: string[] | null;
    turns?: number | null;
    beforeTurn?: number | null;
};

/**
 * `thread` for one thread, `threads` for all. `clients` counts the clients that are subscribed to the one thread, including the one that asks, and `live` are the items of its running turn.
 */
export type SnapshotResult = {
    thread: OrchestrationThread | null;
    threads: ThreadOverview[];
    clients?: number | null;
    live?: LiveItem[];
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
 * The sums: days in their order, else those with the most tokens first.
 *
 * While `countedThreads` is less than `knownThreads`, journals of an older version are being read, and the sums are of the threads that are counted. `unreadableThreads` are in no other figure. `moreRows` have fewer tokens than those that were wanted, and are in the total.
 */
export type Stats = {
    by: "day" | "folder" | "model" | "thread";
    sinceMs: number | null;
    rows: StatsRow[];
    total: StatsRow;
    countedThreads: number;
    knownThreads: number;
    unreadableThreads?: number;
    moreRows?: number;
};

/**
 * Counts what was spent after `sinceMs`, in milliseconds since the epoch, to a quarter of an hour; null: ever. `limit` is the number of threads that are wanted as rows; other rows are not limited.
 */
export type StatsParams = {
    by?: "day" | "folder" | "model" | "thread";
    sinceMs?: number | null;
    limit?: number;
};

/**
 * One sum. `key` is the id of the thread, the folder, the day as the person's clock has it (2026-01-31), or the model, empty where that is not known; `name` is the thread's.
 *
 * `trims` counts the trims that are in effect by their triggers. `sparedTokens` are those that trims kept from being sent, an estimate; `readAnewTokens` those that the first calls after trims did not find in the provider's cache.
 */
export type StatsRow = {
    key: string;
    name?: string | null;
    threads: number;
    calls: number;
    inputTokens: number;
    cachedInputTokens: number;
    outputTokens: number;
    trims: Record<string, number>;
    sparedTokens: number;
    readAnewTokens: number;
};

/**
 * Unload the thread's Codex thread; the next turn loads it again.
 */
export type StopSession = {
    type: "thread.session.stop";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
};

/**
 * `folder` limits the answer to the repository that contains it; without it, all repositories that threads work in.
 */
export type StorageParams = {
    folder?: string | null;
};

/**
 * `afterSequence`: the last event that the client knows; the events after it are replayed where that is possible, instead of a snapshot.
 *
 * An event number is never used twice: after the journal was restored from a backup, a number of the lost history gets a snapshot. `turns` limits the snapshot to that many turns, as in `orchestration/snapshot`. `entries` adds so many of the newest entries, with all sections expanded, for a client to which another request would cost a round trip.
 */
export type SubscribeParams = {
    threadId: string;
    afterSequence?: number | null;
    turns?: number | null;
    entries?: number | null;
};

/**
 * `mode` is snapshot: `thread` is the state to start from; or replay: the missed events follow as notifications.
 *
 * Then `orchestration/synchronized`, then live events. `live` are the items of the running turn. `timeline` comes with a snapshot where `entries` were asked for: the newest page of `timeline/read`, whose `nextCursor` goes on there.
 */
export type SubscribeResult = {
    mode: "replay" | "snapshot";
    thread: OrchestrationThread | null;
    sequence: number;
    live?: LiveItem[];
    timeline?: TimelinePage | null;
};

/**
 * All events up to `sequence` have been sent; later ones are live.
 */
export type Synchronized = {
    threadId: string;
    sequence: number;
};

/**
 * A snapshot of the worktree. `moment`: before | after (a turn) | safety (before a revert, of no turn).
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
 * A thread that `/handoff` began with a brief of this one.
 */
export type ThreadHandoff = {
    threadId: string;
    goal: string | null;
    createdAt: string;
};

/**
 * A thread, its host, and whether that host is connected.
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
    asks?: boolean;
    host: string;
    online: boolean;
};

/**
 * An operation (clear, compact, start …) that is under way, or the last one that ended.
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
 * A thread as a list shows it; `busy` says what is under way, null when the thread is idle or not loaded. `asks` is the method of the request that waits for an answer of a person, null when there is none.
 *
 * `context` is the thread's meter; of a thread that is not loaded it holds the last reported figures, null when there are none. `preview` is the beginning of the first prompt, `lastWords` that of the newest message; both can be empty. `turns`, `trims` and `compactions` are null for a thread that no daemon has opened since these are counted; `trims` took entries out of the context, `compactions` put a summary in their place, Codex's own included. `newThreadId` is the thread that continues this one after `/new`.
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
    asks?: string | null;
    branchName?: string | null;
    lastWords?: string;
};

/**
 * Names a thread.
 */
export type ThreadParams = {
    threadId: string;
};

/**
 * The checkpoints of one thread. `known`: whether this daemon knows the thread.
 */
export type ThreadRefs = {
    threadId: string;
    known: boolean;
    refs: number;
    newestAt: string;
};

/**
 * The session of a thread. `status`: `ready` (the context is in place), `pending` (opens with the next turn or operation), `stopped`.
 */
export type ThreadSession = {
    status: "pending" | "ready" | "stopped";
    generation: number;
    generationReason: string;
};

/**
 * One prompt and all that answers it; `status`: running | completed | interrupted | failed.
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
 * A command, file change, tool call, reasoning or provider compaction; `detail` is Codex's own item. `masked` says that the agent is sent one line in the place of its output.
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
    masked?: boolean;
};

/**
 * A prompt of the user or an answer of the agent. `detail` is Codex's own item where it holds more than text, such as an image. `trimmed`: it is no longer in the agent's context; `trimPointId` names the trim point that took it out.
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
 * Oldest first within the page; `nextCursor` is null when nothing older is left. `firstEntry` is the place of the first entry among all `entryCount` of this view, counted from 0.
 */
export type TimelinePage = {
    entries: (ContextSummaryBanner | ContextTrimPointDivider | TimelineActivity | TimelineMessage)[];
    nextCursor: string | null;
    firstEntry?: number;
    entryCount?: number;
    turns?: TimelineTurn[];
};

/**
 * Pages go back from the newest entry. `expand` lists trim points whose pruned section is wanted, or is "all". With `beforeEntry` instead of a cursor they go back from that entry, with `beforeTurn` from the first entry of that turn, both counted from 0; of a hidden turn, from the next one that is shown.
 */
export type TimelineParams = {
    threadId: string;
    expand?: "all" | string[] | null;
    cursor?: string | null;
    beforeEntry?: number | null;
    beforeTurn?: number | null;
    limit?: number | null;
};

/**
 * A turn with entries on a page; turns are numbered from 1. `status` is as in a snapshot.
 */
export type TimelineTurn = {
    id: string;
    number: number;
    status: string;
    error: string | null;
};

/**
 * The size of the context before and after a trim, in the tokens of `context/status`.
 *
 * `after` is null where it cannot be known yet. `note` says why a figure is an estimate or what it leaves out; null where neither applies. `cost` is null where `after` is, and where a context is too small to be cached.
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
    cost?: TrimCost | null;
};

/**
 * A trim that would help. `afterTokens` is null where only the summary will tell; `percent` is the share of the window that `afterTokens` takes. `text` is a sentence for a person: `command`, then `effect`.
 */
export type TrimAdvice = {
    command: string;
    freesTokens: number | null;
    afterTokens: number | null;
    percent: number | null;
    text: string;
    effect?: string;
};

/**
 * `/clear [N]`: keep the last `keepLastNTurns` turns of the active context; absent or 0 keeps nothing.
 *
 * With `summary`, that text stands in the new context for the turns that were pruned. `force` also keeps turns word for word that Codex has compacted automatically, though the context grows by that.
 *
 * With `fromTurn` or `throughTurn`, numbers from 1, exactly these turns leave the context, and what is before and behind them stays: `/clear 4..12`. Without the first it begins with the first turn in the context, without the second it ends with the newest.
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
    fromTurn?: number | null;
    throughTurn?: number | null;
};

/**
 * What it costs to go on with another context. The provider's cache holds the old one, if it is warm: the last call is not so long ago that it has forgotten it.
 *
 * The next call reads `readsAnewTokens` without the cache, and each call sends `savesTokens` less than it would have (more if it is negative, as after an undo). `paidOffAfterCalls` is null where nothing is saved. `said` is all of it for a person.
 */
export type TrimCost = {
    cacheIsWarm: boolean;
    readsAnewTokens: number;
    savesTokens: number;
    paidOffAfterCalls: number | null;
    said: string;
};

/**
 * The files before and after a turn. `number` counts from 1, pruned turns included; 0 is the time before the first turn, with a null `turnId`.
 *
 * `commit` holds the files after the turn; it is null if there is no checkpoint, and `problem` says why. `notes` say which files the checkpoint leaves out. `changed` is what the turn changed, null when that is not known or was not asked for.
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
 * `/undo`: take back the last trim of any kind; the context is what it was before, plus the turns since. Files stay as they are.
 *
 * `redo` repeats the trim that was undone last. `trimPointId`, when given, must name the trim that would be undone, so that of two clients which undo at once only one succeeds. `force` undoes even where the context will not fit, or where turns come back word for word that Codex had compacted automatically.
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
 * `/unpin`: remove `pins`, each a number as `/pins` lists them or an id; without any, the newest pin.
 */
export type UnpinContext = {
    type: "thread.context.unpin";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    pins?: (string | number)[] | null;
};

/**
 * Take a prompt out of the queue before it is sent.
 */
export type WithdrawQueuedPrompt = {
    type: "thread.queue.delete";
    commandId: string;
    threadId: string;
    createdAt?: string | null;
    promptId: string;
};

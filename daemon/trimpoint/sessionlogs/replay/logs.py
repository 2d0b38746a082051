"""Makes stories of agents' session logs."""

from trimpoint_protocol import unified as u

from trimpoint.core.context.context_size import provider_compacts_at
from trimpoint.sessionlogs.replay.story import (
    CODEX_WINDOW,
    WINDOWS,
    CutPlace,
    Story,
    StoryMaker,
    moment_ms,
)
from trimpoint.sessionlogs.sessions import FoundSession, Reading, Survey


def story_of(session: FoundSession, first: Survey, windows: dict[str, int]) -> Story:
    """Returns the story of a session.

    :param first: the result of its first reading.
    :param windows: configured windows by model.
    :raises CannotRead: when one of its files cannot be read.
    """
    maker, cuts, now_ms = StoryMaker(), list[CutPlace](), 0
    sizes: list[int] = []  # at which the agent itself has compacted
    for record in Reading(session, surveyed=first):
        match record:
            case u.MessageRecord():
                # A summary and what it keeps are made again by the replay, and what a sub-agent
                # said was in a context of its own.
                now_ms = moment_ms(record.timestamp, now_ms)
                if not (record.synthetic or record.sidechain or record.kind == "summary"):
                    maker.add(record, now_ms, index=record.index, inherited=record.inherited)
            case u.BoundaryRecord(trigger="auto"):
                sizes += [record.pre_tokens] if record.pre_tokens else []
            case u.BoundaryRecord(inherited=False, undone=False):
                after = record.after_message_index
                cuts.append(CutPlace("compact", after, after + 1))
            case u.RewindRecord(dropped_message_indices=[first_dropped, *_]):
                cuts.append(CutPlace("rewind", record.after_message_index, first_dropped))
            case _:
                continue
    records, usage = first.records, first.records.usage
    window = (
        usage.window or windows.get(records.model or "") or WINDOWS.get(session.agent, CODEX_WINDOW)
    )
    return maker.story(
        window,
        min((*sizes, provider_compacts_at(window, None))),
        cuts,
        first_input=usage.first_input,
        reported=usage.record().input_tokens if usage.calls else None,
    )

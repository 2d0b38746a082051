"""The rules of captures. The settings of `[checkpoints]` are these."""

from typing import Annotated

import msgspec

from trimpoint.git.capture.untracked import SECRET_NAMES

Bytes = Annotated[int, msgspec.Meta(ge=1)]
Deadline = Annotated[float, msgspec.Meta(gt=0)]


class CaptureRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of captures, in seconds and bytes.

    `baseline_deadline_s` is how long a turn waits for its baseline, `deadline_s` the limit for any
    other capture. `completion_grace_s` is how long the notification that a turn has ended is
    delayed for its capture, so that a person's next change is not taken for the agent's.
    """

    enabled: bool = True
    max_file_bytes: Bytes = 64 * 1024 * 1024
    baseline_deadline_s: Deadline = 10.0
    completion_grace_s: Annotated[float, msgspec.Meta(ge=0)] = 0.25
    deadline_s: Deadline = 120.0
    max_untracked_bytes: Bytes = 128 * 1024 * 1024
    secret_names: tuple[str, ...] = SECRET_NAMES

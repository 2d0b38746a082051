"""A model whose agent starts a sub-agent."""

from collections.abc import Callable

from trimpoint.testkit import ModelRequest, Reply, say

WORK = "work-of-the-sub-agent"
SPAWN = {
    "type": "function_call",
    "namespace": "multi_agent_v1",
    "name": "spawn_agent",
    "arguments": f'{{"message": "{WORK}"}}',
    "call_id": "call_spawn",
}
# The agent calls the tool, the sub-agent works, and the agent answers.
REQUESTS = 3


def replies_of_both(of_the_sub_agent: Reply) -> list[Callable[[ModelRequest], Reply]]:
    """Returns the replies to the agent, prompted with `prompt-1.`, and to the sub-agent that it
    starts. Which of the two asks first is left to Codex.
    """

    def respond(request: ModelRequest) -> Reply:
        if request.mentions(WORK) and not request.mentions("prompt-1."):
            return of_the_sub_agent
        return say("answer-1.") if request.mentions("call_spawn") else Reply(items=(SPAWN,))

    return [respond] * REQUESTS

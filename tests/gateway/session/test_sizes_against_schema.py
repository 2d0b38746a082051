"""The parameters that the binary describes, against the tables of what may be large
(docs/spec/clients.md): whoever sends a long one is not refused for it.

A member that a newer Codex adds fails here until somebody has decided whether it may be large.
"""

import pytest
from trimpoint.gateway.session.requests import sizes

from tests.e2e.conftest import CODEX_BIN
from tests.gateway.codex_schema import CodexSchema

pytestmark = pytest.mark.codex

# Names, ids, keys, paths, addresses, and lists of a few of these: never more than
# `sizes.MAX_MEMBER_BYTES`.
SMALL = frozenset(
    [
        "accessKeyId",
        "accessToken",
        "ancestorThreadId",
        "apiKey",
        "appIds",
        "appearance",
        "attachmentType",
        "authBearerToken",
        "beforeProjectId",
        "beforeThreadId",
        "cancellationToken",
        "capabilities",
        "challenge",
        "chatgptAccountId",
        "chatgptPlanType",
        "classification",
        "clientId",
        "clientInfo",
        "clientUserMessageId",
        "codexResponseHandoffChannelPrefixes",
        "codexResponseItemPrefix",
        "connectorId",
        "creditId",
        "cwds",
        "description",
        "destinationPath",
        "disabledPluginIds",
        "effort",
        "environmentId",
        "environments",
        "execServerUrl",
        "expectedRevision",
        "expectedVersion",
        "extraLogFiles",
        "extraRoots",
        "filePath",
        "gitInfo",
        "idempotencyKey",
        "identityKey",
        "installAttemptId",
        "installSuggestionPluginNames",
        "keyPath",
        "loginId",
        "manualPairingCode",
        "marketplaceName",
        "marketplacePath",
        "metadata",
        "migrationSource",
        "mockExperimentalField",
        "model",
        "modelProvider",
        "modelProviders",
        "multiAgentMode",
        "originCallId",
        "originators",
        "pairingCode",
        "parentThreadId",
        "parentTurnId",
        "path",
        "permissionProfile",
        "permissions",
        "pluginId",
        "pluginName",
        "pluginPath",
        "processHandle",
        "processId",
        "profile",
        "projectId",
        "providerId",
        "queuedSubmissionId",
        "queuedSubmissionIds",
        "realtimeSessionId",
        "reason",
        "refName",
        "region",
        "remoteMarketplaceName",
        "remotePluginId",
        "requestId",
        "responsesapiClientMetadata",
        "rootTurnId",
        "roots",
        "runtimeWorkspaceRoots",
        "sandboxPolicy",
        "scopes",
        "secretAccessKey",
        "sectionId",
        "selectedCapabilityRoots",
        "server",
        "serverName",
        "serviceName",
        "serviceTier",
        "serviceTierForTurn",
        "sessionId",
        "sessionToken",
        "shareTargets",
        "skillName",
        "skills",
        "source",
        "sourcePath",
        "sourceTurnId",
        "sparsePaths",
        "subscriptionId",
        "tags",
        "threadSource",
        "title",
        "tool",
        "transport",
        "turnTrigger",
        "uri",
        "watchId",
        "websocketRequestId",
    ]
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> CodexSchema:
    return CodexSchema.of(str(CODEX_BIN), tmp_path_factory.mktemp("schema"))


def unbounded(schema: CodexSchema) -> set[tuple[str, str]]:
    """Returns each method with each of its parameters that holds text or JSON of any length."""
    return {
        (method, name)
        for method, params in schema.messages("ClientRequest").items()
        for name, member in schema.members(params).items()
        for place in schema.places({"properties": {name: member}}, method, frozenset())
        if place.kinds
    }


def test_for_each_parameter_it_is_decided_whether_it_may_be_large(
    schema: CodexSchema,
) -> None:
    content = {(method, one.member) for method, one in sizes.CONTENT.items()}
    undecided = {
        name
        for method, name in unbounded(schema) - content
        if name not in sizes.LONG_MEMBERS | sizes.LONGEST_BYTES.keys() | SMALL
    }
    assert undecided == set()


def test_the_tables_name_parameters_that_exist(schema: CodexSchema) -> None:
    found = unbounded(schema)
    assert {(method, one.member) for method, one in sizes.CONTENT.items()} <= found
    names = {name for _, name in found}
    assert names >= SMALL
    assert names >= sizes.LONG_MEMBERS
    assert SMALL.isdisjoint(sizes.LONG_MEMBERS)

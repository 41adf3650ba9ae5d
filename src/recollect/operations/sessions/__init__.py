"""The sessions family: live sessions in a realm, on every surface, and realms with their config."""

from functools import partial

from recollect.operations.operation import Family, Operation, Route
from recollect.operations.sessions import answer_schemas, realms, requests
from recollect.operations.sessions.envelope import ENVELOPE
from recollect.operations.sessions.reading import list_live_sessions, read_history, read_session
from recollect.operations.sessions.session_lookup import locate
from recollect.operations.sessions.turns import archive, create_session, interrupt, start_turn

_operation = partial(Operation, envelope=ENVELOPE)

FAMILY = Family(
    operations=(
        _operation(
            name="meerkat_create_session",
            title="Create a session",
            request=requests.CreateSession,
            handle=create_session,
            answer_schema=answer_schemas.CREATED,
            routes=(Route(rpc="session/create", http="POST /sessions", headers={"x-device-id": "user_id"}),),
            writes=True,
            repeatable=False,
            runs_programs=True,
            is_long=True,
        ),
        _operation(
            name="meerkat_start_turn",
            title="Run a turn",
            request=requests.StartTurn,
            handle=start_turn,
            answer_schema=answer_schemas.TURN,
            routes=(Route(rpc="turn/start", http="POST /sessions/{session_id}/messages"),),
            writes=True,
            repeatable=False,
            runs_programs=True,
            is_long=True,
        ),
        _operation(
            name="meerkat_interrupt",
            title="Interrupt a turn",
            request=requests.Interrupt,
            handle=interrupt,
            answer_schema=answer_schemas.INTERRUPTED,
            routes=(Route(rpc="turn/interrupt", http="POST /sessions/{session_id}/interrupt"),),
            writes=True,
            is_destructive=True,
            is_long=True,
        ),
        _operation(
            name="meerkat_read",
            title="Read a session's state",
            request=requests.ReadSession,
            handle=read_session,
            answer_schema=answer_schemas.SESSION,
            routes=(Route(rpc="session/read", http="GET /sessions/{session_id}"),),
        ),
        _operation(
            name="meerkat_history",
            title="Read a session's messages",
            request=requests.ReadHistory,
            handle=read_history,
            answer_schema=answer_schemas.HISTORY,
            routes=(Route(rpc="session/history", http="GET /sessions/{session_id}/history"),),
        ),
        _operation(
            name="meerkat_list",
            title="List live sessions",
            request=requests.ListLiveSessions,
            handle=list_live_sessions,
            answer_schema=answer_schemas.SESSIONS,
            routes=(Route(rpc="session/list", http="GET /sessions"),),
        ),
        _operation(
            name="meerkat_archive",
            title="Archive a session",
            request=requests.Archive,
            handle=archive,
            answer_schema=answer_schemas.ARCHIVED,
            routes=(Route(rpc="session/archive", http="DELETE /sessions/{session_id}"),),
            writes=True,
            is_destructive=True,
        ),
        _operation(
            name="session_locate",
            title="Find a session's id",
            request=requests.Locate,
            handle=locate,
            answer_schema=answer_schemas.LOCATED,
            is_tool=False,
        ),
        _operation(
            name="meerkat_config",
            title="Realm config",
            request=requests.ConfigRequest,
            handle=realms.config,
            answer_schema=answer_schemas.CONFIG,
            routes=(
                Route(
                    rpc="config/get",
                    http="GET /config",
                    implied_arguments={"action": "get"},
                    request=requests.GetConfig,
                ),
                Route(
                    rpc="config/set",
                    http="PUT /config",
                    implied_arguments={"action": "set"},
                    request=requests.SetConfig,
                ),
                Route(
                    rpc="config/patch",
                    http="PATCH /config",
                    implied_arguments={"action": "patch"},
                    request=requests.PatchConfig,
                ),
            ),
            writes=True,
            is_destructive=True,
        ),
        _operation(
            name="realm_list",
            title="All realms",
            request=requests.ListRealms,
            handle=realms.realm_list,
            answer_schema=answer_schemas.REALMS,
            routes=(Route(rpc="realm/list", http="GET /realms"),),
            is_tool=False,
        ),
        _operation(
            name="realm_get",
            title="A realm",
            request=requests.GetRealm,
            handle=realms.realm_get,
            answer_schema=answer_schemas.REALM_DETAILS,
            routes=(Route(rpc="realm/get", http="GET /realms/{realm_id}"),),
            is_tool=False,
        ),
        _operation(
            name="realm_delete",
            title="Delete a realm",
            request=requests.DeleteRealm,
            handle=realms.realm_delete,
            answer_schema=answer_schemas.REALM_DETAILS,
            writes=True,
            repeatable=False,
            is_tool=False,
        ),
        _operation(
            name="realm_prune",
            title="Delete unused realms",
            request=requests.PruneRealms,
            handle=realms.realm_prune,
            answer_schema=answer_schemas.PRUNED,
            writes=True,
            is_tool=False,
        ),
    ),
    guide="To run an agent and keep what it does: meerkat_create_session, then meerkat_start_turn and meerkat_history.",
)

"""The tools that models are offered, by name and in order."""

HISTORY = ("search_sessions", "open", "list_sessions")
TRACE = ("search_event_previews", "get_event_details", "get_session_details", "analyze_session", "search_events")
MEMORY = ("search", "get_observations", "read", "record_observation")
JOURNEYS = ("get_or_create_journey", "query_journey_history", "add_document_to_journey", "link_session_to_journey")
READING = ("meerkat_read", "meerkat_history", "meerkat_list")
SESSIONS = (
    "meerkat_create_session",
    "meerkat_start_turn",
    "meerkat_interrupt",
    *READING,
    "meerkat_archive",
    "meerkat_config",
)
TOOLS = (*HISTORY, *TRACE, *MEMORY, *JOURNEYS, *SESSIONS)
RUNNING = {"meerkat_create_session", "meerkat_start_turn"}  # tools that run turns, and with them programs
DESTRUCTIVE = {*RUNNING, "meerkat_interrupt", "meerkat_archive", "meerkat_config"}  # they end or replace what exists
WRITING = {"record_observation", *JOURNEYS, *SESSIONS} - {"query_journey_history", *READING}

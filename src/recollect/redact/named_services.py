"""Rules for keys without a prefix, which are recognised by the name of their service beside them: one row per rule."""

from typing import NamedTuple

END = r"(?![A-Za-z0-9_-])"
MIXED = r"(?=[a-zA-Z_=-]*[0-9])(?=[0-9_=-]*[a-zA-Z])"
UUID = "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"


class NamedService(NamedTuple):
    """A rule: its name in the archive, the words of the assigned name, the value, and an example."""

    name: str
    words: tuple[str, ...]
    value: str
    example: str


def _row(word: str, alphabet: str, *lengths: str) -> NamedService:
    """A rule for values of one alphabet: `l` letters and digits, `x` hexadecimal, `b` with dashes, `s` with slashes."""
    signs = {"l": "a-zA-Z0-9", "x": "a-fA-F0-9", "b": "a-zA-Z0-9=_-", "s": "a-zA-Z0-9/=_+-"}[alphabet]
    value = "|".join(f"[{signs}]{{{length}}}{END}" for length in lengths)
    words = tuple(word.split())
    first = "b" if alphabet in "bs" else alphabet
    return NamedService(
        f"{words[0].replace('_', '-')}-key", words, f"{MIXED}(?:{value})", f"<{first}{lengths[0].split(',')[0]}>"
    )


NAMED_SERVICES = [
    *(
        _row(*row)
        for row in (
            ("adafruit", "b", "32"),
            ("adobe", "x", "32"),
            ("airtable", "l", "17"),
            ("algolia", "l", "32"),
            ("alibaba aliyun", "l", "30"),
            ("asana", "l", "32"),
            ("atlassian jira confluence", "l", "24"),
            ("beamer", "b", "46"),
            ("bitbucket", "b", "32", "64"),
            ("bittrex", "l", "32"),
            ("cloudant", "x", "64"),
            ("cloudflare", "b", "40", "37"),
            ("codecov", "l", "32"),
            ("cohere co_api_key", "l", "40"),
            ("coinbase", "b", "64"),
            ("confluent", "l", "16", "64"),
            ("contentful", "b", "43"),
            ("datadog dd_api_key dd_app_key", "l", "32", "40"),
            ("discord", "b", "32", "64"),
            ("droneci", "l", "32"),
            ("dropbox", "b", "15", "64"),
            ("etsy", "l", "24"),
            ("facebook", "x", "32"),
            ("fastly", "b", "32"),
            ("finicity", "l", "20", "32"),
            ("finnhub", "l", "20"),
            ("flickr", "l", "32"),
            ("freshbooks", "l", "64"),
            ("gitlab_session gitlab-session gitlabsession gitlab.session", "l", "32"),
            ("gitter", "b", "40"),
            ("gocardless", "b", "45"),
            ("ibm", "b", "44"),
            ("intercom", "b", "60"),
            ("jfrog artifactory bintray xray", "l", "64", "73"),
            ("kraken", "s", "80,90"),
            ("kucoin", "x", "24"),
            ("launchdarkly", "b", "40"),
            ("linear", "x", "32"),
            ("linkedin linked_in linked-in", "l", "14", "16"),
            ("lob", "b", "40"),
            ("looker", "l", "20", "24"),
            ("mattermost", "l", "26"),
            ("meraki", "x", "40"),
            ("messagebird message_bird message-bird", "l", "25"),
            ("netlify", "b", "40,46"),
            ("newrelic new_relic new-relic new.relic", "l", "64"),
            ("nytimes newyorktimes", "b", "32"),
            ("okta", "b", "42"),
            ("plaid", "l", "24", "30"),
            ("privateai private_ai private-ai", "l", "32"),
            ("rapidapi", "b", "50"),
            ("sendbird", "x", "40"),
            ("sentry", "x", "64"),
            ("softlayer", "l", "64"),
            ("sonar", "b", "40"),
            ("square", "b", "64"),
            ("sumo", "l", "14", "64"),
            ("travis", "l", "22"),
            ("twitch", "l", "30"),
            ("twitter", "b", "25", "45", "50", "35,66"),
            ("yandex", "b", "40"),
            ("zendesk", "l", "40"),
        )
    ),
    NamedService("service-key",
                 ("authtoken", "codecov", "heroku", "hubspot", "kucoin", "launchdarkly", "message-bird", "message_bird",
                  "messagebird", "pinecone", "plaid", "sendbird", "snyk", "squarespace"),
                 UUID + END, "<x8>-<x4>-<x4>-<x4>-<x12>"),
    NamedService("sidekiq-key", ("contribsys",), "[0-9a-f]{8}:[0-9a-f]{8}" + END, "<x8>:<x8>"),
    NamedService("client-id", ("asana", "discord"), r"\d{16}(?:\d\d)?" + END, "<d18>"),
    NamedService("lob-key", ("lob",), "(?:live|test)_(?:pub_)?[0-9a-f]{31,35}" + END, "test_<x35>"),
]  # fmt: skip

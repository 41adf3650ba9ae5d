"""Kinds of secrets, as their services make them: who knows them, the name they are assigned to, and their shape.

`g` is a kind that gitleaks has a rule for, `d` one that detect-secrets has a plugin for. Values are made up from a seed.
"""

import random
import re
import string
from typing import NamedTuple

ALPHABETS = {
    "A": string.ascii_uppercase,
    "a": string.ascii_letters,
    "b": string.ascii_letters + string.digits + "_-",
    "d": string.digits,
    "f": string.ascii_letters + string.digits + "+/",
    "l": string.ascii_lowercase + string.digits,
    "m": string.ascii_lowercase,
    "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "u": string.ascii_uppercase + string.digits,
    "w": string.ascii_letters + string.digits,
    "x": string.digits + "abcdef",
}
UUID = "<x8>-<x4>-<x4>-<x4>-<x12>"


class Kind(NamedTuple):
    known: str
    name: str
    shape: str


def made_up(shape: str, rng: random.Random) -> str:
    """A value of a shape: `ghp_<w36>` is `ghp_` and 36 letters or digits. It belongs to nobody."""
    return re.sub(r"<([A-Za-z])(\d+)>", lambda part: "".join(rng.choices(ALPHABETS[part[1]], k=int(part[2]))), shape)


KINDS = {
    f"{number:03d} {kind[1].lower()}": Kind(*kind)
    for number, kind in enumerate(
        (
            ("g", "OP_SECRET_KEY", "A3-<u6>-<u11>-<u5>-<u5>-<u5>"), ("g", "OP_SERVICE_ACCOUNT_TOKEN", "ops_eyJ<f250>"),
            ("g", "ADAFRUIT_IO_KEY", "<l32>"), ("g", "ADOBE_CLIENT_ID", "<x32>"), ("g", "ADOBE_CLIENT_SECRET", "p8e-<l32>"),
            ("g", "AGE_KEY", "AGE-SECRET-KEY-1<q58>"), ("g", "AIRTABLE_API_KEY", "<l17>"),
            ("", "AIRTABLE_PAT", "pat<w14>.<x64>"),
            ("g", "ALGOLIA_API_KEY", "<l32>"), ("g", "ALIBABA_ID", "LTAI<w20>"), ("g", "ALIBABA_SECRET", "<l30>"),
            ("g", "ANTHROPIC_ADMIN", "sk-ant-admin01-<b93>AA"), ("g", "ANTHROPIC_API_KEY", "sk-ant-api03-<b93>AA"),
            ("gd", "ARTIFACTORY_KEY", "AKCp<w69>"), ("g", "ARTIFACTORY_REFERENCE", "cmVmd<w59>"),
            ("g", "ASANA_CLIENT_ID", "<d16>"), ("g", "ASANA_CLIENT_SECRET", "<l32>"), ("g", "JIRA_API_TOKEN", "<l20><x4>"),
            ("g", "ATLASSIAN_TOKEN", "ATATT3<b186>"), ("g", "AUTHRESS_KEY", "sc_<l10>.<l4>.acc_<l20>.<b60>"),
            ("gd", "AWS_ACCESS_KEY_ID", "AKIA<q16>"), ("gd", "AWS_SESSION_KEY_ID", "ASIA<q16>"),
            ("d", "AWS_SECRET_ACCESS_KEY", "<f40>"), ("g", "AZURE_CLIENT_SECRET", "<w3><d1>Q~<w34>"),
            ("d", "AccountKey", "<f86>=="), ("", "SharedAccessKey", "<f43>="), ("g", "BEAMER_TOKEN", "b_<l44>"),
            ("g", "BITBUCKET_CLIENT_ID", "<l32>"), ("g", "BITBUCKET_CLIENT_SECRET", "<l64>"),
            ("g", "BITTREX_ACCESS_KEY", "<l32>"),
            ("g", "BITTREX_SECRET_KEY", "<l32>"), ("g", "MERAKI_API_KEY", "<x40>"), ("g", "CLICKHOUSE_SECRET", "4b1d<w38>"),
            ("g", "CLOJARS", "CLOJARS_<l60>"), ("g", "CLOUDFLARE_API_KEY", "<l40>"),
            ("g", "CLOUDFLARE_GLOBAL_KEY", "<x37>"),
            ("g", "CLOUDFLARE_ORIGIN", "v1.0-<x24>-<x146>"), ("g", "CODECOV_TOKEN", "<l32>"),
            ("g", "COHERE_API_KEY", "<w40>"),
            ("g", "COINBASE_ACCESS_TOKEN", "<l64>"), ("g", "CONFLUENT_ACCESS_TOKEN", "<l16>"),
            ("g", "CONFLUENT_SECRET", "<l64>"),
            ("g", "CONTENTFUL_TOKEN", "<b43>"), ("g", "DB_PASSWORD", "<w16>"), ("g", "DATABRICKS", "dapi<x32>"),
            ("g", "DATADOG_ACCESS_TOKEN", "<l40>"), ("", "DD_API_KEY", "<x32>"), ("g", "DNKEY", "dnkey-<l26>-<l52>"),
            ("g", "DIGITALOCEAN_ACCESS", "doo_v1_<x64>"), ("g", "DIGITALOCEAN_PAT", "dop_v1_<x64>"),
            ("g", "DIGITALOCEAN_REFRESH", "dor_v1_<x64>"), ("g", "DISCORD_API_TOKEN", "<x64>"),
            ("g", "DISCORD_CLIENT_ID", "<d18>"),
            ("g", "DISCORD_CLIENT_SECRET", "<b32>"), ("d", "DISCORD_BOT", "M<w23>.<w6>.<b27>"),
            ("g", "DOPPLER", "dp.pt.<w43>"),
            ("g", "DRONECI_TOKEN", "<l32>"), ("g", "DROPBOX_TOKEN", "<l15>"), ("g", "DROPBOX_LONG", "<l11>AAAAAAAAAA<l43>"),
            ("g", "DROPBOX_SHORT", "sl.<b135>"), ("g", "DUFFEL", "duffel_live_<b43>"),
            ("g", "DYNATRACE", "dt0c01.<u24>.<u64>"),
            ("g", "EASYPOST", "EZAK<w54>"), ("g", "EASYPOST_TEST", "EZTK<w54>"), ("g", "ETSY_TOKEN", "<l24>"),
            ("g", "FACEBOOK_TOKEN", "<d16>|<w27>"), ("g", "FACEBOOK_PAGE", "EAAM<w120>"), ("g", "FACEBOOK_SECRET", "<x32>"),
            ("g", "FASTLY_API_TOKEN", "<b32>"), ("g", "FINICITY_API_TOKEN", "<x32>"), ("g", "FINICITY_SECRET", "<l20>"),
            ("g", "FINNHUB_TOKEN", "<l20>"), ("g", "FLICKR_TOKEN", "<l32>"),
            ("g", "FLUTTERWAVE_ENCRYPTION", "FLWSECK_TEST-<x12>"),
            ("g", "FLUTTERWAVE_PUBLIC", "FLWPUBK_TEST-<x32>-X"), ("g", "FLUTTERWAVE_SECRET", "FLWSECK_TEST-<x32>-X"),
            ("g", "FLY_ACCESS", "fm2_<f120>"), ("g", "FRAMEIO", "fio-u-<b64>"), ("g", "FREEMIUS_SECRET_KEY", "sk_<w29>"),
            ("g", "FRESHBOOKS_TOKEN", "<l64>"), ("g", "GCP_KEY", "AIza<b35>"), ("gd", "SERVICE_API_KEY", "<w32>"),
            ("gd", "GITHUB_APP", "ghs_<w36>"), ("g", "GITHUB_FINE", "github_pat_<w22>_<w59>"),
            ("gd", "GITHUB_OAUTH", "gho_<w36>"),
            ("gd", "GITHUB_PAT", "ghp_<w36>"), ("gd", "GITHUB_REFRESH", "ghr_<w36>"),
            ("gd", "GITLAB_JOB", "glcbt-<x2>_<b20>"),
            ("gd", "GITLAB_DEPLOY", "gldt-<b20>"), ("g", "GITLAB_FLAG", "glffct-<b20>"),
            ("gd", "GITLAB_FEED", "glft-<b20>"),
            ("gd", "GITLAB_MAIL", "glimt-<b25>"), ("gd", "GITLAB_AGENT", "glagent-<b50>"),
            ("gd", "GITLAB_OAUTH", "gloas-<b64>"),
            ("gd", "GITLAB_PAT", "glpat-<b20>"), ("g", "GITLAB_ROUTABLE", "glpat-<b27>.<l9>"),
            ("gd", "GITLAB_TRIGGER", "glptt-<x40>"),
            ("gd", "GITLAB_RUNNER_REG", "GR1348941<b20>"), ("gd", "GITLAB_RUNNER", "glrt-<b20>"),
            ("gd", "GITLAB_SCIM", "glsoat-<b20>"),
            ("g", "_gitlab_session", "<l32>"), ("g", "GITTER_TOKEN", "<b40>"), ("g", "GOCARDLESS_TOKEN", "live_<b40>"),
            ("g", "GRAFANA_KEY", "eyJrIjoi<w80>"), ("g", "GRAFANA_CLOUD", "glc_<f60>"),
            ("g", "GRAFANA_SA", "glsa_<w32>_<x8>"),
            ("g", "HARNESS", "pat.<b22>.<w24>.<w20>"), ("g", "TFE_TOKEN", "<w14>.atlasv1.<b64>"),
            ("g", "admin_password", "<w18>"),
            ("g", "HEROKU_API_KEY", UUID), ("g", "HEROKU_KEY", "HRKU-AA<b58>"), ("g", "HUBSPOT_API_KEY", UUID),
            ("g", "HUGGINGFACE", "hf_<a34>"), ("g", "HUGGINGFACE_ORG", "api_org_<a34>"), ("g", "INFRACOST", "ico-<w32>"),
            ("g", "INTERCOM_TOKEN", "<b60>"), ("g", "INTRA42", "s-s4t2ud-<x64>"), ("g", "JFROG_API_KEY", "<l73>"),
            ("g", "JFROG_TOKEN", "<l64>"), ("gd", "JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx<w28>.<b43>"),
            ("g", "JWT_B64", "ZXlKaGJHY2lPaU<w90>"), ("g", "KRAKEN_TOKEN", "<f84>"), ("g", "KUCOIN_TOKEN", "<x24>"),
            ("g", "KUCOIN_SECRET", UUID), ("g", "LAUNCHDARKLY_TOKEN", "<b40>"), ("g", "LINEAR", "lin_api_<l40>"),
            ("g", "LINEAR_SECRET", "<x32>"), ("g", "LINKEDIN_CLIENT_ID", "<l14>"), ("g", "LINKEDIN_SECRET", "<l16>"),
            ("g", "LOB_KEY", "live_<x35>"), ("g", "LOB_PUB", "test_pub_<x31>"), ("gd", "MAILCHIMP", "<x32>-us14"),
            ("g", "MAILGUN_PRIVATE", "key-<x32>"), ("g", "MAILGUN_PUB", "pubkey-<x32>"),
            ("g", "MAILGUN_SIGNING", "<x32>-<x8>-<x8>"),
            ("g", "MAPBOX", "pk.eyJ<l57>.<l22>"), ("g", "MATTERMOST_TOKEN", "<l26>"), ("g", "MAXMIND", "<w6>_<w29>_mmk"),
            ("g", "MESSAGEBIRD_TOKEN", "<l25>"), ("g", "MESSAGEBIRD_CLIENT_ID", UUID),
            ("g", "TEAMS", f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/<x32>/{UUID}"),
            ("g", "NETLIFY_TOKEN", "<b44>"), ("g", "NEW_RELIC_BROWSER", "NRJS-<x19>"),
            ("g", "NEW_RELIC_INSERT", "NRII-<l32>"),
            ("g", "NEW_RELIC_ID", "<l64>"), ("g", "NEW_RELIC_USER", "NRAK-<u27>"), ("g", "NOTION", "ntn_<d11><w35>"),
            ("gd", "NPM", "npm_<w36>"), ("g", "NUGET_PASSWORD", "<w14>"), ("g", "NYTIMES_TOKEN", "<b32>"),
            ("g", "OCTOPUS", "API-<u26>"), ("g", "OKTA_TOKEN", "00<b40>"), ("gd", "OPENAI", "sk-<w20>T3BlbkFJ<w20>"),
            ("g", "OPENAI_PROJECT", "sk-proj-<b74>T3BlbkFJ<b74>"), ("g", "OPENSHIFT", "sha256~<b43>"),
            ("g", "PERPLEXITY", "pplx-<w48>"),
            ("g", "PLAID_ACCESS", f"access-production-{UUID}"), ("g", "PLAID_CLIENT_ID", "<l24>"),
            ("g", "PLAID_SECRET", "<l30>"),
            ("g", "PSCALE_TOKEN", "pscale_tkn_<b43>"), ("g", "PSCALE_OAUTH", "pscale_oauth_<b43>"),
            ("g", "PSCALE_PW", "pscale_pw_<b43>"),
            ("g", "POSTMAN", "PMAK-<x24>-<x34>"), ("g", "PREFECT", "pnu_<w36>"),
            ("gd", "PRIVATE_PEM", "-----BEGIN RSA PRIVATE KEY-----\\n<f64>\\n<f64>\\n-----END RSA PRIVATE KEY-----"),
            ("g", "PRIVATEAI_TOKEN", "<l32>"), ("g", "PULUMI", "pul-<x40>"), ("gd", "PYPI", "pypi-AgEIcHlwaS5vcmc<b80>"),
            ("g", "RAPIDAPI_KEY", "<b50>"), ("g", "README", "rdme_<l70>"), ("g", "RUBYGEMS", "rubygems_<x48>"),
            ("g", "SCALINGO", "tk-us-<b48>"), ("g", "SENDBIRD_ID", UUID), ("g", "SENDBIRD_TOKEN", "<x40>"),
            ("gd", "SENDGRID", "SG.<b22>.<b43>"), ("g", "SENDINBLUE", "xkeysib-<x64>-<w16>"),
            ("g", "SENTRY_TOKEN", "<x64>"),
            ("g", "SENTRY_ORG", "sntrys_eyJpYXQiO<f60>LCJyZWdpb25fdXJs<f40>_<f43>"), ("g", "SENTRY_USER", "sntryu_<x64>"),
            ("g", "SETTLEMINT_APP", "sm_aat_<w16>"), ("g", "SETTLEMINT_PAT", "sm_pat_<w16>"),
            ("g", "SETTLEMINT_SAT", "sm_sat_<w16>"),
            ("g", "SHIPPO", "shippo_live_<x40>"), ("g", "SHOPIFY", "shpat_<x32>"), ("g", "SHOPIFY_CUSTOM", "shpca_<x32>"),
            ("g", "SHOPIFY_PRIVATE", "shppa_<x32>"), ("g", "SHOPIFY_SHARED", "shpss_<x32>"),
            ("g", "BUNDLE_GEMS__CONTRIBSYS__COM", "<x8>:<x8>"),
            ("g", "SIDEKIQ_URL", "https://<x8>:<x8>@gems.contribsys.com/"),
            ("gd", "SLACK_APP", "xapp-1-<u11>-<d13>-<l64>"), ("gd", "SLACK_BOT", "xoxb-<d12>-<d12>-<w24>"),
            ("g", "SLACK_CONFIG", "xoxe.xoxp-1-<u166>"), ("g", "SLACK_CONFIG_REFRESH", "xoxe-1-<u146>"),
            ("gd", "SLACK_LEGACY", "xoxs-<d10>-<d10>-<d10>-<x10>"), ("g", "SLACK_WORKSPACE", "xoxa-2-<w40>"),
            ("gd", "SLACK_USER", "xoxp-<d12>-<d12>-<d12>-<x32>"),
            ("gd", "SLACK_WEBHOOK", "https://hooks.slack.com/services/T<u9>/B<u9>/<w24>"), ("g", "SNYK_TOKEN", UUID),
            ("g", "SONAR_TOKEN", "<x40>"), ("g", "SOURCEGRAPH", "sgp_<x40>"), ("g", "SQUARE_ACCESS", "EAAA<b60>"),
            ("g", "SQUARE_TOKEN", "sq0atp-<b22>"), ("d", "SQUARE_OAUTH", "sq0csp-<b43>"), ("g", "SQUARESPACE_TOKEN", UUID),
            ("gd", "STRIPE", "sk_live_<w24>"), ("g", "STRIPE_TEST", "rk_test_<w24>"), ("g", "SUMO_ACCESS_ID", "su<w12>"),
            ("g", "SUMO_ACCESS_KEY", "<l64>"), ("gd", "TELEGRAM_BOT", "<d10>:AA<b33>"), ("g", "TRAVIS_TOKEN", "<l22>"),
            ("gd", "TWILIO", "SK<x32>"), ("d", "TWILIO_SID", "AC<x32>"), ("g", "TWITCH_TOKEN", "<l30>"),
            ("g", "TWITTER_ACCESS_SECRET", "<l45>"), ("g", "TWITTER_ACCESS_TOKEN", "<d19>-<w30>"),
            ("g", "TWITTER_API_KEY", "<l25>"),
            ("g", "TWITTER_API_SECRET", "<l50>"), ("g", "TWITTER_BEARER", "AAAAAAAAAAAAAAAAAAAAAA<w90>"),
            ("g", "TYPEFORM", "tfp_<b59>"),
            ("g", "VAULT_BATCH", "hvb.<b140>"), ("g", "VAULT_TOKEN", "hvs.<b95>"), ("g", "VAULT_OLD_TOKEN", "s.<w24>"),
            ("g", "YANDEX_TOKEN", "t1.<b60>.<b86>"), ("g", "YANDEX_API_KEY", "AQVN<b37>"), ("g", "YANDEX_AWS", "YC<b38>"),
            ("g", "ZENDESK_SECRET", "<l40>"), ("d", "DATABASE_URL", "postgres://app:<w16>@db.example.org/app"),
            ("d", "CLOUDANT_PASSWORD", "<x64>"), ("d", "IBM_CLOUD_IAM_KEY", "<b44>"),
            ("d", "COS_HMAC_SECRET_ACCESS_KEY", "<x48>"),
            ("d", "SOFTLAYER_API_KEY", "<l64>"), ("d", "client_secret", "<w24>"),
            ("", "GROQ", "gsk_<w52>"), ("", "XAI", "xai-<w80>"), ("", "REPLICATE", "r8_<w37>"),
            ("", "DOCKER_PAT", "dckr_pat_<b27>"),
            ("", "TAILSCALE", "tskey-auth-<w16>-<w32>"), ("", "FIGMA", "figd_<b40>"), ("", "SUPABASE", "sbp_<x40>"),
            ("", "SLACK_SESSION", "xoxc-<d12>-<d12>-<d12>-<x64>"), ("", "SLACK_COOKIE", "xoxd-<w60>%2B<w20>%3D"),
            ("", "DISCORD_HOOK", "https://discord.com/api/webhooks/<d19>/<b68>"), ("", "SECRET_KEY", "<w50>"),
            ("", "ENCRYPTION_KEY", "<f43>="), ("", "PASSPHRASE", "<A16>"), ("", "PWD", "<w14>"), ("", "X-Api-Key", "<w32>"),
            ("", "client-key-data", "LS0tLS1C<f80>"), ("", "auth", "<f40>"), ("", "API_KEY", "<A24>"),
            ("", "PASSWORD", "<m16>"),
            ("", "GOOGLE_ACCESS", "ya29.<b100>"), ("", "GOOGLE_SECRET", "GOCSPX-<b28>"), ("", "NVIDIA", "nvapi-<b64>"),
        )
    )
}  # fmt: skip

"""Rules for tokens, which are recognised by their prefix: one row per rule.

The services document the prefixes, lengths and alphabets; gitleaks (MIT) and detect-secrets (Apache 2.0) collected them.
If a service has changed a length, that length is a minimum.
"""

from typing import NamedTuple

from recollect.redact.shapes import UUID


class Service(NamedTuple):
    """A rule: its name in the archive, what it removes, and the shapes of the tokens."""

    name: str
    what: str
    shapes: tuple[str, ...]


SERVICES = [
    Service(*row)
    for row in (
        ("adobe-secret", "Adobe OAuth client secret", ("p8e-<l32>",)),
        ("age-key", "age private key", ("AGE-SECRET-KEY-1<u58>",)),
        ("aiven-token", "Aiven service password", ("AVNS_<b16+>",)),
        ("alibaba-key", "Alibaba Cloud access key", ("LTAI<w12-24>",)),
        ("anthropic-key", "Anthropic API, admin and OAuth keys", ("sk-ant-<b16+>",)),
        ("apify-token", "Apify API token", ("apify_api_<w30+>",)),
        ("artifactory-key", "JFrog Artifactory API key and reference token", ("AKCp<w60+>", "cmVmd<w59+>")),
        ("atlassian-token", "Atlassian API, Bitbucket app and repository tokens",
         ("ATATT3<p20+>", "ATCTT3<p20+>", "ATBB<w28+>")),
        ("authress-key", "Authress service client key",
         tuple(f"{kind}_<l5-30>.<l4-6>.acc<b11-33>.<e30+>" for kind in ("sc", "ext", "scauth", "authress"))),
        ("aws-key", "AWS access key, its id and Bedrock's",
         ("AKIA<u16>", "ASIA<u16>", "ABIA<u16>", "ACCA<u16>", "A3T<u17>", "ABSK<f60+>", "bedrock-api-key-<f60+>")),
        ("aws-mws-key", "Amazon Marketplace key", (f"amzn.mws.{UUID}",)),
        ("buildkite-token", "Buildkite API token", ("bkua_<x40>",)),
        ("cerebras-key", "Cerebras API key", ("csk-<l40+>",)),
        ("circleci-token", "CircleCI personal and project tokens", ("CCIPAT_<b40+>", "CCIPRJ_<b40+>")),
        ("clickhouse-key", "ClickHouse Cloud secret", ("4b1d<w38>",)),
        ("clojars-token", "Clojars deploy token", ("CLOJARS_<l60>",)),
        ("cloudflare-key", "Cloudflare origin CA key", ("v1.0-<x24>-<x146>",)),
        ("cockroach-key", "CockroachDB Cloud key", ("CCDB1_<w22>_<w40>",)),
        ("contentful-token", "Contentful personal access token", ("CFPAT-<b40+>",)),
        ("cursor-key", "Cursor API key", ("crsr_<x64>", "key_<x64>")),
        ("databricks-token", "Databricks access token", ("dapi<x32>",)),
        ("defined-key", "Defined Networking API key", ("dnkey-<b26>-<b52>",)),
        ("digitalocean-token", "DigitalOcean tokens", ("dop_v1_<x40+>", "doo_v1_<x40+>", "dor_v1_<x40+>")),
        ("docker-token", "Docker Hub access tokens", ("dckr_pat_<b20+>", "dckr_oat_<b20+>")),
        ("doppler-token", "Doppler tokens",
         ("dp.pt.<w40+>", "dp.ct.<w40+>", "dp.sa.<w40+>", "dp.scim.<w40+>", "dp.audit.<w40+>", "dp.st.<w40+>")),
        ("dropbox-token", "Dropbox short-lived token", ("sl.<b130+>", "sl.u.<b130+>")),
        ("duffel-token", "Duffel API token", ("duffel_test_<b43>", "duffel_live_<b43>")),
        ("dynatrace-token", "Dynatrace API token", ("dt0c01.<u24>.<u64>", "dt0s16.<u24>.<u64>", "dt0c01.<w24>.<w64>")),
        ("easypost-key", "EasyPost API keys", ("EZAK<w54>", "EZTK<w54>")),
        ("facebook-token", "Facebook page and user access tokens", ("EAAM<w80+>", "EAAC<w80+>", "EAAG<w80+>", "EAAB<w80+>")),
        ("figma-token", "Figma personal access and refresh tokens", ("figd_<b36+>", "figdr_<b36+>")),
        ("firecrawl-key", "Firecrawl API key", ("fc-<x32>",)),
        ("fireworks-key", "Fireworks API key", ("fw_<w22-24>",)),
        ("flutterwave-key", "Flutterwave secret, public and encryption keys",
         ("FLWSECK_TEST-<l32>-X", "FLWSECK-<l32>-X", "FLWPUBK_TEST-<l32>-X", "FLWSECK_TEST-<l12>")),
        ("fly-token", "Fly.io access tokens", ("fo1_<b43>", "fm1a_<f80+>", "fm1r_<f80+>", "fm2_<e80+>")),
        ("frameio-token", "Frame.io API token", ("fio-u-<b64>",)),
        ("github-token", "GitHub tokens",
         ("ghp_<w20+>", "gho_<w20+>", "ghu_<w20+>", "ghs_<w20+>", "ghr_<w20+>", "github_pat_<b22+>")),
        ("gitlab-token", "GitLab tokens",
         ("glpat-<b20+>", "glpat-<b27-300>.<l9>", "glrt-<b27-300>.<l9>",
          "gldt-<b20+>", "glrt-<b20+>", "glcbt-<b20+>", "glptt-<b20+>", "glft-<b20+>", "glffct-<b20+>",
          "glimt-<b20+>", "glsoat-<b20+>", "gloas-<b20+>", "glagent-<b20+>", "glwt-<b20+>", "GR1348941<b20+>")),
        ("google-key", "Google API key, OAuth secret, access and refresh tokens",
         ("AIza<b35>", "GOCSPX-<b20+>", "ya29.<b20+>")),
        ("grafana-token", "Grafana service account, cloud and legacy keys",
         ("glsa_<w32>_<h8>", "glc_<f32+>", "eyJrIjoi<f60+>")),
        ("groq-key", "Groq API key", ("gsk_<w40+>",)),
        ("harness-token", "Harness access tokens", ("pat.<b22>.<w24>.<w20>", "sat.<b22>.<w24>.<w20>")),
        ("heroku-key", "Heroku API key", ("HRKU-<b36+>",)),
        ("honeycomb-key", "Honeycomb keys", ("hcaik_<l58>", "hcaic_<l58>", "hcxik_<l58>")),
        ("huggingface-token", "Hugging Face user and organisation tokens", ("hf_<w30+>", "api_org_<w30+>")),
        ("infracost-key", "Infracost API key", ("ico-<w32>",)),
        ("inngest-key", "Inngest signing key", ("signkey-prod-<x32+>", "signkey-test-<x32+>")),
        ("intra42-secret", "42 Intra client secret", ("s-s4t2ud-<x64>", "s-s4t2af-<x64>")),
        ("json-web-token", "a web token in Base64 once more", ("ZXlK<f60+>",)),
        ("langsmith-key", "LangSmith keys", ("lsv2_pt_<x32>_<x10>", "lsv2_sk_<x32>_<x10>")),
        ("launchdarkly-key", "LaunchDarkly SDK and API keys", (f"sdk-{UUID}", f"api-{UUID}", f"mob-{UUID}")),
        ("linear-key", "Linear API and OAuth keys", ("lin_api_<w30+>", "lin_oauth_<w30+>")),
        ("mailgun-key", "Mailgun private, public and signing keys", ("key-<x32>", "pubkey-<x32>")),
        ("mapbox-token", "Mapbox tokens", ("pk.eyJ<b50+>.<b20+>", "sk.eyJ<b50+>.<b20+>", "tk.eyJ<b50+>.<b20+>")),
        ("mongodb-secret", "MongoDB Atlas service account secret", ("mdb_sa_sk_<b40+>",)),
        ("neon-key", "Neon API key", ("napi_<l60+>",)),
        ("netlify-token", "Netlify access tokens", ("nfp_<w36+>", "nfc_<w36+>", "nfo_<w36+>", "nfu_<w36+>")),
        ("new-relic-key", "New Relic keys",
         ("NRAK-<u27>", "NRII-<b32>", "NRJS-<x19>", "NRRA-<x42>", "NRSP-<l24+>", "NRIQ-<b32>", "NRAK-<w27>")),
        ("notion-token", "Notion integration tokens", ("ntn_<w40+>", "secret_<w43>")),
        ("npm-token", "npm access token", ("npm_<w30+>",)),
        ("nuget-key", "NuGet API key", ("oy2<l43>",)),
        ("nvidia-key", "NVIDIA API key", ("nvapi-<b50+>",)),
        ("octopus-key", "Octopus Deploy API key", ("API-<u25-32>",)),
        ("one-password-key", "1Password secret key and service account token",
         ("A3-<u6>-<u11>-<u5>-<u5>-<u5>", "A3-<u6>-<u6>-<u5>-<u5>-<u5>-<u5>", "ops_eyJ<f200+>")),
        ("openai-key", "OpenAI keys, and those of all that begin alike", ("sk-<b20+>", "sess-<w40>")),
        ("perplexity-key", "Perplexity API key", ("pplx-<w40+>",)),
        ("pinecone-key", "Pinecone API key", ("pcsk_<b40+>",)),
        ("plaid-token", "Plaid access token",
         (f"access-sandbox-{UUID}", f"access-development-{UUID}", f"access-production-{UUID}")),
        ("planetscale-token", "PlanetScale tokens and passwords",
         ("pscale_tkn_<p30+>", "pscale_oauth_<p30+>", "pscale_pw_<p30+>")),
        ("posthog-key", "PostHog personal and project keys", ("phx_<w40+>", "phc_<w40+>", "phs_<w40+>")),
        ("postman-key", "Postman API and collection keys", ("PMAK-<x24>-<x34>", "PMAT-<u26>")),
        ("prefect-key", "Prefect API keys", ("pnu_<w36>", "pnb_<w36>")),
        ("private-key", "a private key in PEM, in Base64 once more",
         tuple(f"LS0tLS1CRUdJTi{kind}<f60+>" for kind in ("BQUklWQVRF", "BSU0EgUFJJVkFURS", "BFQyBQUklWQVRF",
                                                          "BPUEVOU1NIIFBSSVZBVEU", "BFTkNSWVBURUQgUFJJVkFUR"))),
        ("pulumi-token", "Pulumi access token", ("pul-<x40>",)),
        ("pypi-token", "PyPI upload token", ("pypi-<b50+>",)),
        ("razorpay-key", "Razorpay keys", ("rzp_live_<w14>", "rzp_test_<w14>")),
        ("readme-key", "ReadMe API key", ("rdme_<l70>",)),
        ("render-key", "Render API key", ("rnd_<w28+>",)),
        ("replicate-token", "Replicate API token", ("r8_<w37+>",)),
        ("resend-key", "Resend API key", ("re_<w8>_<w24>",)),
        ("rubygems-key", "RubyGems API key", ("rubygems_<x48>",)),
        ("scalingo-token", "Scalingo API token", ("tk-us-<b48>",)),
        ("sendgrid-key", "SendGrid API key", ("SG.<b16-24>.<b16+>",)),
        ("sendinblue-key", "Brevo (Sendinblue) keys", ("xkeysib-<x64>-<w16>", "xsmtpsib-<x64>-<w16>")),
        ("sentry-token", "Sentry organisation and user tokens", ("sntrys_<e60+>", "sntryu_<x64>", "sntrya_<x64>")),
        ("settlemint-token", "SettleMint tokens", ("sm_aat_<w16>", "sm_pat_<w16>", "sm_sat_<w16>")),
        ("shippo-token", "Shippo API token", ("shippo_live_<h40>", "shippo_test_<h40>")),
        ("shopify-token", "Shopify tokens and shared secrets",
         ("shpat_<h32>", "shpca_<h32>", "shppa_<h32>", "shpss_<h32>", "shpua_<h32>", "shprka_<h32>")),
        ("slack-token", "Slack bot, user, app, session and configuration tokens",
         ("xoxa-<b10+>", "xoxb-<b10+>", "xoxc-<b10+>", "xoxe-<b10+>", "xoxo-<b10+>", "xoxp-<b10+>", "xoxr-<b10+>",
          "xoxs-<b10+>", "xoxd-<e10+>", "xoxe.xoxb-<b10+>", "xoxe.xoxp-<b10+>", "xapp-<d1>-<b10+>")),
        ("sonar-token", "SonarQube tokens", ("sqp_<x40>", "squ_<x40>", "sqa_<x40>")),
        ("sourcegraph-token", "Sourcegraph access tokens", ("sgp_<h16>_<h40>", "sgp_local_<h40>", "sgp_<h40>", "slk_<h64>")),
        ("square-token", "Square access tokens and OAuth secrets",
         ("EAAA<b55+>", "sq0atp-<b22+>", "sq0csp-<b40+>", "sq0idp-<b22+>")),
        ("stripe-key", "Stripe secret, restricted, publishable and webhook keys",
         ("sk_live_<w10+>", "sk_test_<w10+>", "sk_prod_<w10+>", "rk_live_<w10+>", "rk_test_<w10+>", "rk_prod_<w10+>",
          "pk_live_<w16+>", "pk_test_<w16+>", "whsec_<w16+>")),
        ("supabase-key", "Supabase access and secret keys", ("sbp_<x40>", "sb_secret_<b20+>", "sbp_oauth_<x40>")),
        ("tailscale-key", "Tailscale keys", ("tskey-<b20+>",)),
        ("tavily-key", "Tavily API key", ("tvly-<b28+>",)),
        ("together-key", "Together API key", ("tgp_v1_<b40+>",)),
        ("twilio-key", "Twilio API key and account ids", ("SK<x32>", "AC<x32>")),
        ("twitter-token", "Twitter bearer token", ("AAAAAAAAAAAAAAAAAAAAAA<e60+>",)),
        ("typeform-token", "Typeform access token", ("tfp_<p55+>",)),
        ("vault-token", "HashiCorp Vault tokens", ("hvs.<b20+>", "hvb.<b20+>", "hvr.<b20+>")),
        ("vercel-token", "Vercel tokens", ("vercel_blob_rw_<w16+>_<w20+>", "vcp_<w50+>", "vck_<w50+>")),
        ("voyage-key", "Voyage API key", ("pa-<b43>",)),
        ("wakatime-key", "WakaTime key", (f"waka_{UUID}",)),
        ("xai-key", "xAI API key", ("xai-<w60+>",)),
        ("yandex-key", "Yandex Cloud keys and tokens", ("AQVN<b35-38>", "t1.<p10-400>.<b86>", "YC<b38>")),
        ("zuplo-key", "Zuplo API key", ("zpka_<w32>_<h8>",)),
    )
]  # fmt: skip


class EndingService(NamedTuple):
    """A rule for tokens that end with a long word (`after`). `before` matches the part before it, which ends with `sign`."""

    name: str
    what: str
    sign: str
    before: str
    after: str
    example: str


B64 = "[A-Za-z0-9_-]"
ENDING_SERVICES = [
    EndingService(*row)
    for row in (
        ("airtable-token", "Airtable personal access token", ".", r"pat[A-Za-z0-9]{14}\.", "[a-f0-9]{64}", "pat<w14>.<x64>"),
        ("azure-secret", "Azure client secret", "~", r"[A-Za-z0-9_~.]{3}\dQ~", "[A-Za-z0-9_~.-]{31,34}", "<w3><d1>Q~<w34>"),
        ("discord-token", "Discord bot token", ".", rf"[MNO]{B64}{{23,27}}\.{B64}{{6}}\.", f"{B64}{{27,40}}",
         "M<w23>.<w6>.<w38>"),
        ("facebook-token", "Facebook app access token", "|", r"\d{15,16}\|", f"{B64}{{27,40}}", "<d16>|<w27>"),
        ("mailchimp-key", "Mailchimp API key", "", "", "[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])", "<x32>-us14"),
        ("mailgun-key", "Mailgun signing key", "", "",
         "[0-9a-h]{32}-[0-9a-h]{8}-[0-9a-h]{8}(?![A-Za-z0-9])", "<x32>-<x8>-<x8>"),
        ("maxmind-key", "MaxMind license key", "", "", "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", "<w6>_<w29>_mmk"),
        ("openshift-token", "OpenShift user token", "~", "sha256~", f"{B64}{{43}}", "sha256~<b43>"),
        ("telegram-token", "Telegram bot token", ":", r"(?<!\d)\d{5,16}:", f"A{B64}{{34}}(?!{B64})", "<d10>:AA<b33>"),
        ("terraform-token", "Terraform Cloud token", ".", r"[A-Za-z0-9]{14}\.atlasv1\.", "[A-Za-z0-9_=-]{60,}",
         "<w14>.atlasv1.<b64>"),
    )
]  # fmt: skip

"""Secrets in files, commands and headers of many formats, and similar text that is not a secret."""

import base64
import json
import random
import string
import time

import pytest

from recollect.redact import redact, redact_all

SIGNS = string.ascii_letters + string.digits

# `{}` is a password, `{b64}` a login in Base64, `{key}` a key of 40 characters
PLACES = {
    "pgpass": "db.internal:5432:app:svc:{}",
    "pgpass of all hosts": "*:*:*:postgres:{}",
    "netrc": "machine api.example.org login bot password {}",
    "netrc of several lines": "machine api.example.org\n  login bot\n  password {}\n",
    "npmrc": "//registry.example.org/:_authToken={key}",
    "npmrc with a login": "_auth={b64}\nemail=anna@example.org",
    "pip.conf": "index-url = https://bot:{}@pypi.example.org/simple",
    "pypirc": "[pypi]\nusername = bot\npassword = {}",
    "docker config": '{{"auths": {{"ghcr.io": {{"auth": "{b64}"}}}}}}',
    "kubeconfig": "  user:\n    token: {key}\n",
    "a Kubernetes secret": "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  anything: {b64}\n",
    "a Kubernetes secret, data first": "data:\n  user: YQ==\n  thing.txt: {b64}\nkind: Secret\n",
    "a Kubernetes secret in JSON": '{{"kind": "Secret", "data": {{"anything": "{b64}"}}}}',
    "kubectl": "kubectl create secret generic a --from-literal=anything={}",
    "a connection string": "Server=db;User ID=sa;Password={};Encrypt=True",
    "an account of storage": "AccountName=a;AccountKey={key}==;EndpointSuffix=core.windows.net",
    "a signed address": "https://a.blob.core.windows.net/c/b?sv=2022&sig={key}abcd%3D",
    "jdbc": "jdbc:postgresql://h:5432/db?user=u&password={}&ssl=true",
    "an address": "mongodb+srv://anna:{}@cluster.example.org/?w=1",
    "a token in an address": "git clone https://{key}@example.org/a.git",
    "curl with a user": "curl -u admin:{} https://example.org",
    "curl with a quoted user": "curl -s --user 'admin:{}' https://example.org",
    "wget": "wget --http-user=a --http-password={} https://example.org",
    "mysql": "mysql -u root -p{} app",
    "sshpass": "sshpass -p '{}' ssh anna@example.org",
    "docker login": "docker login -u bot -p {} ghcr.io",
    "SQL": "CREATE USER app WITH PASSWORD '{}';",
    "SQL of MySQL": "CREATE USER 'a'@'%' IDENTIFIED BY '{}';",
    "openssl": "openssl rsa -in k.pem -passin pass:{}",
    "a basic header": "Authorization: Basic {b64}",
    "a token header": "-H 'Authorization: token {key}'",
    "a header of one's own": 'curl --header "PRIVATE-TOKEN: {key}"',
    "a header in Go": 'req.Header.Set("X-API-Key", "{key}")',
    "a login in Python": 'requests.get(u, auth=("admin", "{}"))',
    "Maven": "<server>\n  <password>{}</password>\n</server>",
    "NuGet": '<add key="ClearTextPassword" value="{}" />',
    "Terraform": 'administrator_login_password = "{}"',
    "Ansible": "web1 ansible_user=a ansible_password={} ansible_port=22",
    "a cookie": "Set-Cookie: auth_token={}; Path=/",
    "a sentence": "the root password is {}, tell nobody",
    "a sentence with a colon": "here is my api key: {key}",
    "a terminal's colors": "\x1b[1;32mAPI_KEY=\x1b[0m\nAPI_KEY={key}\x1b[0m",
}  # fmt: skip


def text_with_secret(place: str, seed: int) -> tuple[str, str]:
    """A text with a secret in it, and the secret."""
    rng = random.Random(f"{place} {seed}")
    password, key = ("7" + "".join(rng.choices(SIGNS, k=length)) for length in (15, 39))
    login = base64.b64encode(f"anna:{password}".encode()).decode()
    text = PLACES[place].format(password, b64=login, key=key)
    return text, next(secret for secret in (password, login, key) if secret in text)


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_redacted_in_every_usual_place(place: str) -> None:
    left = [text for text, secret in (text_with_secret(place, seed) for seed in range(20)) if secret in redact(text)]
    assert left == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_secret_is_redacted_in_json_inside_json(place: str, depth: int) -> None:
    """As the arguments of a tool are logged: with quotes and newlines escaped once or twice."""
    for seed in range(5):
        text, secret = text_with_secret(place, seed)
        arguments = text
        for _ in range(depth):
            arguments = json.dumps({"input": arguments})
        assert secret not in json.dumps(redact_all({"arguments": arguments}))


@pytest.mark.parametrize("newline", ["\n", "\\n", "\\\\n", "\\r\\n", "\n    ", '\\n" +\n  "', "\n   12\t"])
def test_a_private_key_is_redacted_however_its_lines_are_broken(newline: str) -> None:
    lines = ["".join(random.Random(number).choices(SIGNS, k=64)) for number in range(4)]
    key = newline.join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    assert redact(f"before {key} after") == "before [REDACTED:private-key] after"


NOT_SECRETS = [
    "2026-07-08T05:53:31Z PASS: tasks/test_task_dep_env_2",
    "--- PASS: TestChunkJSONL_OversizedLineInMiddle (0.00s)",
    '"sessionKey": "agent:main:subagent:7d0e5f7c-3b52-4a6e-9f0a-0d6c3a1b2c4d"',
    '"ClientToken": "7d0e5f7c-3b52-4a6e-9f0a-0d6c3a1b2c4d"',
    '"ui.panel.password": "Bekræft ny adgangskode", "ui.old_password": "Текущий пароль"',
    '"login.password":"Lozinka"',
    '"encryptionKey": "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"',
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTest-a1b2c3",
    "#define CKK_GENERIC_SECRET 0x00000010UL",
    'var AIR_SESSION_WORKTREES_KEY = "sessionWorktrees";',
    "const authPassword =\n  authIsObject && utils.own(config.auth)",
    "createMappedTypeNode(readonlyToken: ReadonlyKeyword | PlusToken)",
    '["libsecret-1-0", "libvpx12", "NIDiscoveryToken", "NINearbyObject"]',
    ".multi-token:hover::after { content: attr(data-token) }",
    "password_data->item_id, password_data->keyring",
    "connect to <user>:<password>@artifactory.example.org/resource",
    'token = f"VTE/{vte_version}"',
    "Items remaining: 0\nNext page token: eav1OzQB0OM8rLdGXOEsyQWSG",
    'enc = "sk-ssh-ed25519-cert-v01@openssh.com"',
    "signingkey = $KEYDIR/id_2.pub",
    "if self.update_password == 'always':",
    "Optionally set password and/or DN",
    "the status of the secret is unknown; append whether Pass is loop-nest",
    "kind: SecretStore\ndata:\n  greeting: SGVsbG8gd29ybGQh\n",
    "kind: ConfigMap\ndata:\n  greeting: SGVsbG8gd29ybGQhIQ\n",
]


@pytest.mark.parametrize("text", NOT_SECRETS)
def test_a_plain_value_in_the_place_of_a_secret_stays(text: str) -> None:
    assert redact(text) == text


REPEATED = [
    "a", "A1", "=", '"', " ", "\\", "key=", "eyJ", "://", "-----BEGIN ", "password:", "sk-", "ghp_", "kind: Secret\n", 'token="',
    "adobe ", "a@", "http://a:", "&sig=", 'variable "password" {', "pass is ", ":5432:a:b:", "-----BEGIN RSA PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize("part", REPEATED)
def test_a_repetition_takes_time_in_proportion_to_its_length(part: str) -> None:
    """Sixteen times the text takes sixteen times the time; a rule with unlimited lookaround takes 256 times."""

    def seconds(size: int) -> float:
        text = part * (size // len(part))
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    seconds(1000)  # tables are built once
    assert seconds(1 << 20) < 60 * max(seconds(1 << 16), 0.002)

"""What Terraform made is imported from its state to an empty plan, whatever units the provider keeps it in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cli.running import Shell
from tests.peers.programs import PROVIDER, program
from tests.support.accounts import Account

RC = 'provider_installation {{\n  dev_overrides {{\n    "nats-io/jetstream" = "{folder}"\n  }}\n}}\n'
MAIN = """
terraform {
  required_providers {
    jetstream = { source = "nats-io/jetstream" }
  }
}
variable "url" {}
provider "jetstream" { servers = var.url }
resource "jetstream_stream" "orders" {
  name               = "ORDERS"
  subjects           = ["orders.>"]
  max_age            = 604800
  inactive_threshold = 3600
  max_ack_pending    = 500
  ack                = false
  metadata           = { team = "billing" }
}
resource "jetstream_stream" "copy" {
  name    = "COPY"
  storage = "memory"
  source {
    name           = "ORDERS"
    filter_subject = "orders.a"
  }
}
resource "jetstream_consumer" "dispatch" {
  stream_id          = jetstream_stream.orders.id
  durable_name       = "dispatch"
  deliver_new        = true
  max_delivery       = 5
  max_ack_pending    = 100
  sample_freq        = 30
  ack_wait           = 1
  backoff            = [1, 60]
  inactive_threshold = 60
}
resource "jetstream_consumer" "pinned" {
  stream_id          = jetstream_stream.orders.id
  durable_name       = "pinned"
  deliver_all        = true
  inactive_threshold = 60
  max_ack_pending    = 100
  priority_policy    = "pinned_client"
  priority_groups    = ["jobs"]
  priority_timeout   = 90
}
resource "jetstream_kv_bucket" "config" {
  name             = "CONFIG"
  ttl              = 86400
  limit_marker_ttl = 60
}
resource "jetstream_obj_bucket" "files" {
  name        = "FILES"
  compression = true
}
"""


def test_a_state_is_imported_to_an_empty_plan(account: Account, shell: Shell, tmp_path: Path) -> None:
    made(tmp_path, account)
    ran = shell("import", "terraform.tfstate", "-o", "imported.yaml")
    assert (ran.code, "IM1" in ran.err) == (0, False), ran
    assert shell("validate", "imported.yaml").code == 0
    login = ["--server", account.url, "--user", account.user, "--password", account.password]
    planned = shell("plan", "imported.yaml", "--exit-code", *login)
    assert (planned.code, "6 adopted" in planned.out) == (0, True), planned


def made(folder: Path, account: Account) -> None:
    """Without `init`, so nothing is fetched; after a refresh, since the state then says what the provider reads back."""
    providers = folder / "providers"
    providers.mkdir()
    (providers / "terraform-provider-jetstream").symlink_to(program(PROVIDER))
    (folder / "terraformrc").write_text(RC.format(folder=providers))
    (folder / "main.tf").write_text(MAIN)
    url = account.url.replace("//", f"//{account.user}:{account.password}@")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TF_CLI_CONFIG_FILE": "terraformrc", "TF_VAR_url": url,
           "CHECKPOINT_DISABLE": "1"}  # fmt: skip
    for more in ([], ["-refresh-only"]):
        command = ["terraform", "apply", "-auto-approve", "-no-color", *more]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
